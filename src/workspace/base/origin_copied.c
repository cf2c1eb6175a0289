/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inodes of the host that the sandbox has changed, by what was recorded. When the host renames one of them, the overlay of a
 * root caller may show the sandbox's copy under the new name, too: the kernel finds the inode by the copy's mark, which for
 * plain users names none.
 */
#include "base/core/own.h"
#include "workspace/base/origin_index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct origin_copied {
	bool is_listed;
	const struct origin_record **items; /* by inode */
	size_t count;
};

struct origin_copied *origin_copied_new(void)
{
	return xcalloc(1, sizeof(struct origin_copied));
}

void origin_copied_free(struct origin_copied *copied)
{
	free(copied->items);
	free(copied);
}

static int compare_inodes(const void *a, const void *b)
{
	const struct origin_record *one = *(const struct origin_record *const *)a;
	const struct origin_record *other = *(const struct origin_record *const *)b;

	return one->origin.identity.ino < other->origin.identity.ino   ? -1
	       : one->origin.identity.ino > other->origin.identity.ino ? 1
								       : 0;
}

static void list(struct origin_copied *copied, const struct origin_records *touched)
{
	copied->is_listed = true;
	copied->items = xcalloc(touched->count + 1, sizeof(*copied->items));
	for (size_t i = 0; i < touched->count; i++)
		if (S_ISREG(touched->items[i].origin.identity.mode))
			copied->items[copied->count++] = &touched->items[i];
	if (copied->count > 1)
		qsort(copied->items, copied->count, sizeof(*copied->items), compare_inodes);
}

bool origin_is_copied_elsewhere(const struct origin_index *index, const char *path,
				const struct txn_identity *now)
{
	struct origin_copied *copied = index->copied;
	size_t low = 0, high;

	if (!S_ISREG(now->mode))
		return false;
	if (!copied->is_listed)
		list(copied, &index->touched);
	for (high = copied->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (copied->items[middle]->origin.identity.ino < now->ino)
			low = middle + 1;
		else
			high = middle;
	}
	/* A number is used again for another file, whose birth is another one. */
	for (; low < copied->count && copied->items[low]->origin.identity.ino == now->ino; low++)
		if (copied->items[low]->origin.identity.btime_ns == now->btime_ns &&
		    strcmp(copied->items[low]->path, path) != 0)
			return true;
	return false;
}
