/* SPDX-License-Identifier: Apache-2.0 */
/* A push seen from an earlier one that both sides have: what was changed since then, instead of since the host's files. */
#include "app/travel/travel_parts.h"

#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>

static const struct head *find(const struct heads *heads, uint64_t sequence)
{
	for (size_t i = 0; i < heads->count; i++)
		if (heads->items[i].sequence == sequence)
			return &heads->items[i];
	return NULL;
}

const struct head *heads_common(const struct heads *heads, const struct head *head,
				const struct known *known)
{
	const struct head *best = NULL;
	owned(free_ptr) bool *is_above = xcalloc(heads->count + 1, sizeof(bool));

	/* By number, newest first: a head was made from smaller numbers alone. */
	for (size_t i = heads->count; i-- > 0 && !best;) {
		const struct head *one = &heads->items[i];

		if (one != head && !is_above[i])
			continue;
		if (one != head && known_has(known, one->sequence))
			best = one;
		for (size_t j = 0; j < one->after_count; j++) {
			const struct head *above = find(heads, one->after[j]);

			if (above)
				is_above[above - heads->items] = true;
		}
	}
	return best;
}

static void copy_side(struct bundle_side *to, const struct bundle_side *from)
{
	*to = *from;
	to->link = from->link ? xstrdup(from->link) : NULL;
}

static int add(struct bundle *out, const char *path, const struct bundle_side *old,
	       const struct bundle_side *new, struct error *err)
{
	struct bundle_change *change = NULL;

	if (bundle_add(out, path, &change, err) < 0)
		return -1;
	copy_side(&change->old, old);
	copy_side(&change->new, new);
	return 0;
}

int bundle_rebase(struct bundle *bundle, const struct bundle *earlier, struct error *err)
{
	struct bundle out;
	size_t b = 0, e = 0;
	int status = 0;

	bundle_init(&out);
	while (status == 0 && (b < bundle->count || e < earlier->count)) {
		const struct bundle_change *now = &bundle->items[b], *then = &earlier->items[e];
		int order = b == bundle->count	  ? 1
			    : e == earlier->count ? -1
						  : strcmp(now->path, then->path);

		/* What only the earlier one changed was taken back since. */
		if (order < 0)
			status = add(&out, now->path, &now->old, &now->new, err);
		else
			status = add(&out, then->path, &then->new,
				     order > 0 ? &then->old : &now->new, err);
		b += order <= 0;
		e += order >= 0;
	}
	bundle_done(bundle);
	*bundle = out;
	return status;
}
