/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were renamed: a deletion and an addition of the same content. */
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/disk/digest.h"

#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beyond that two changes are listed instead of one: reading it all would take too long. */
#define HASH_MAX (256ll << 20)

static const struct delta_side *side_of(const struct delta_half *half)
{
	return half->is_deleted ? &half->entry->old : &half->entry->new;
}

static int compare_sizes(const void *a, const void *b)
{
	off_t one = side_of(a)->st.st_size, other = side_of(b)->st.st_size;

	if (one != other)
		return one < other ? -1 : 1;
	return strcmp(((const struct delta_half *)a)->entry->path,
		      ((const struct delta_half *)b)->entry->path);
}

/* By content, then deletions before additions, then by path: the first of each are joined. */
static int compare_sums(const void *a, const void *b)
{
	const struct delta_half *one = a, *other = b;
	int order = strcmp(one->sum, other->sum);

	if (order == 0)
		order = (int)other->is_deleted - (int)one->is_deleted;
	return order ? order : strcmp(one->entry->path, other->entry->path);
}

static void hash(struct delta_walk *walk, struct delta_half *half)
{
	const struct delta_side *side = side_of(half);
	owned(fd_close) int fd = -1;

	if (delta_may_compare(walk, (uint64_t)side->st.st_size))
		fd = delta_open_side(walk->stack, side);
	half->is_hashed = fd >= 0 && digest_fd(fd, half->sum) == 0;
	/* Unread ones are equal to nothing. */
	if (!half->is_hashed)
		half->sum[0] = '\0';
}

static bool is_joinable(const struct delta_half *from, const struct delta_half *to)
{
	return from->is_hashed && to->is_hashed && strcmp(from->sum, to->sum) == 0 &&
	       (from->entry->flags & FLAG_OUTSIDE) == (to->entry->flags & FLAG_OUTSIDE);
}

/* COUNT halves of one content, deletions first. */
static void join_equals(struct delta_walk *walk, struct delta_half *halves, size_t count)
{
	size_t to = 0;

	while (to < count && halves[to].is_deleted)
		to++;
	for (size_t from = 0; from < count && halves[from].is_deleted && to < count; from++)
		if (is_joinable(&halves[from], &halves[to]))
			delta_join(walk, &halves[from], &halves[to++]);
}

/* COUNT halves of one size. */
static void join_group(struct delta_walk *walk, struct delta_half *halves, size_t count)
{
	off_t size = side_of(halves)->st.st_size;
	size_t deleted = 0;

	for (size_t i = 0; i < count; i++)
		deleted += halves[i].is_deleted;
	if (deleted == 0 || deleted == count || size == 0 || size > HASH_MAX)
		return;
	for (size_t i = 0; i < count; i++)
		hash(walk, &halves[i]);
	qsort(halves, count, sizeof(*halves), compare_sums);
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start; end < count && strcmp(halves[end].sum, halves[start].sum) == 0;)
			end++;
		join_equals(walk, halves + start, end - start);
	}
}

/* Files at paths that take long to reach are left out: there could be many. */
static size_t collect(const struct delta *delta, struct delta_half *halves)
{
	size_t count = 0;

	for (size_t i = 0; i < delta->count; i++) {
		struct delta_half half = { .entry = &delta->items[i],
					   .is_deleted = delta->items[i].op == DELTA_DELETED };
		const struct stat *st = &side_of(&half)->st;

		/* A second name is listed as one. */
		if (half.entry->mate)
			continue;
		if ((half.is_deleted || half.entry->op == DELTA_ADDED) && S_ISREG(st->st_mode) &&
		    strnlen(half.entry->path, PATH_MAX) < PATH_MAX)
			halves[count++] = half;
	}
	return count;
}

void delta_drop_nameless(struct delta *delta)
{
	size_t kept = 0;

	for (size_t i = 0; i < delta->count; i++)
		if (delta->items[i].path)
			delta->items[kept++] = delta->items[i];
	delta->count = kept;
}

void delta_find_renames(struct delta_walk *walk)
{
	struct delta *delta = walk->delta;
	owned(free_ptr) struct delta_half *halves = xcalloc(delta->count + 1, sizeof(*halves));
	size_t count = collect(delta, halves);

	if (count > 1)
		qsort(halves, count, sizeof(*halves), compare_sizes);
	for (size_t start = 0, end; start < count; start = end) {
		off_t size = side_of(&halves[start])->st.st_size;

		for (end = start; end < count && side_of(&halves[end])->st.st_size == size;)
			end++;
		join_group(walk, halves + start, end - start);
	}
	delta_join_origins(walk, halves, count);
	delta_drop_nameless(delta);
}
