/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sets of extended attributes combined, when both sides changed theirs.
 *
 * Of the base only the digest is kept. But each attribute in which the sides differ is still the base's on one of them, if
 * they did not change the same one: the base is that choice of sides which has the digest.
 */
#include "base/core/own.h"
#include "base/core/str.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/xattr.h"

#include <stdint.h>
#include <string.h>

/* The choices double with each difference. */
#define DIFFERENCES_MAX 10

/* One name, on both sides; NULL where a side has none of it. */
struct pair {
	const struct xattr_item *ours, *theirs;
	bool is_different;
};

static bool is_same(const struct xattr_item *a, const struct xattr_item *b)
{
	return a && b && a->len == b->len &&
	       (a->len == 0 || memcmp(a->value, b->value, a->len) == 0);
}

/* Both lists are sorted. How many pairs differ. */
static size_t pair_up(const struct xattr_list *ours, const struct xattr_list *theirs,
		      struct pair *pairs, size_t *ret_count)
{
	size_t i = 0, j = 0, count = 0, differences = 0;

	while (i < ours->count || j < theirs->count) {
		int order = i == ours->count ? 1
			    : j == theirs->count
				    ? -1
				    : strcmp(ours->items[i].name, theirs->items[j].name);
		struct pair *pair = &pairs[count++];

		*pair = (struct pair){ .ours = order <= 0 ? &ours->items[i++] : NULL,
				       .theirs = order >= 0 ? &theirs->items[j++] : NULL };
		pair->is_different = !is_same(pair->ours, pair->theirs);
		differences += pair->is_different;
	}
	*ret_count = count;
	return differences;
}

/* Of each different pair the side in CHOICE, or the other one. What is in the list is borrowed. */
static void choose(const struct pair *pairs, size_t count, uint32_t choice, bool is_base,
		   struct xattr_list *list)
{
	unsigned bit = 0;

	list->count = 0;
	for (size_t i = 0; i < count; i++) {
		bool ours = true;

		if (pairs[i].is_different)
			ours = (choice >> bit++ & 1) == is_base;
		const struct xattr_item *item = ours ? pairs[i].ours : pairs[i].theirs;

		if (item)
			list->items[list->count++] = *item;
	}
}

static void copy(const struct xattr_list *from, struct xattr_list *ret_list)
{
	ret_list->items = xcalloc(from->count + 1, sizeof(*ret_list->items));
	ret_list->count = from->count;
	for (size_t i = 0; i < from->count; i++) {
		const struct xattr_item *item = &from->items[i];

		ret_list->items[i] = (struct xattr_item){ .name = xstrdup(item->name),
							  .value = xmalloc(item->len + 1),
							  .len = item->len };
		if (item->len > 0)
			memcpy(ret_list->items[i].value, item->value, item->len);
	}
}

bool xattr_merge(const struct xattr_list *ours, const struct xattr_list *theirs,
		 const char *base_digest, struct xattr_list *ret_merged)
{
	size_t room = ours->count + theirs->count + 1, count;
	owned(free_ptr) struct pair *pairs = xcalloc(room, sizeof(*pairs));
	owned(free_ptr) struct xattr_item *items = xcalloc(room, sizeof(*items));
	size_t differences = pair_up(ours, theirs, pairs, &count);
	struct xattr_list list = { .items = items };
	char digest[SHA256_HEX_SIZE];

	if (differences > DIFFERENCES_MAX)
		return false;
	for (uint32_t choice = 0; choice < 1u << differences; choice++) {
		choose(pairs, count, choice, true, &list);
		origin_digest_xattrs(&list, digest);
		if (strcmp(digest, base_digest) != 0)
			continue;
		choose(pairs, count, choice, false, &list);
		copy(&list, ret_merged);
		return true;
	}
	return false;
}
