/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of one file: which changed paths are, in the newer point, names of one inode.
 *
 * A file that is linked to inside is copied up, and then looks unchanged; it is kept as an entry while the delta is read
 * (FLAG_SAME), for another name of it may be a change. Layers share inodes among themselves, so only names within one
 * layer count.
 */
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"

#include <stdlib.h>
#include <string.h>

bool delta_is_kept(const struct delta_walk *walk, const struct delta_object *new)
{
	return new->at->layer < walk->stack->count &&S_ISREG(new->stat->st.st_mode) &&
	       (walk->options->same || new->stat->st.st_nlink > 1);
}

static int compare_numbers(uint64_t one, uint64_t other)
{
	return one < other ? -1 : one > other;
}

int delta_compare_inodes(const struct delta_side *one, const struct delta_side *other)
{
	int order = compare_numbers(one->layer, other->layer);

	if (order == 0)
		order = compare_numbers(one->st.st_dev, other->st.st_dev);
	return order ? order : compare_numbers(one->st.st_ino, other->st.st_ino);
}

/* By inode; of one inode the unchanged names first, to which others are listed as links. */
static int compare_names(const void *a, const void *b)
{
	const struct delta_entry *one = *(struct delta_entry *const *)a;
	const struct delta_entry *other = *(struct delta_entry *const *)b;
	int order = delta_compare_inodes(&one->new, &other->new);

	if (order == 0)
		order = !(one->flags & FLAG_SAME) - !(other->flags & FLAG_SAME);
	return order ? order : strcmp(one->path, other->path);
}

/* Names of one inode; those that were names of one before, and are otherwise unchanged, drop out. */
static void report_group(const struct delta_walk *walk, struct delta_entry **names, size_t count)
{
	const struct delta_entry *first = names[0];
	bool is_same = first->flags & FLAG_SAME;

	for (size_t i = 1; i < count; i++) {
		if ((names[i]->flags & FLAG_SAME) &&
		    delta_compare_inodes(&names[i]->old, &first->old) == 0)
			continue;
		names[i]->flags &= ~FLAG_SAME;
		names[i]->mate = first->path;
		if (is_same && first->old.layer == walk->stack->count)
			names[i]->mate_base = first->old.layer_path;
	}
}

static size_t collect(const struct delta_walk *walk, struct delta_entry **names)
{
	size_t count = 0;

	for (size_t i = 0; i < walk->delta->count; i++) {
		struct delta_entry *entry = &walk->delta->items[i];

		if (entry->new.exists &&
		    entry->new.layer < walk->stack->count &&S_ISREG(entry->new.st.st_mode) &&
		    entry->new.st.st_nlink > 1)
			names[count++] = entry;
	}
	return count;
}

void delta_find_links(struct delta_walk *walk)
{
	struct delta *delta = walk->delta;
	owned(free_ptr) struct delta_entry **names =
		xcalloc(delta->count + 1, sizeof(struct delta_entry *));
	size_t count = collect(walk, names);

	if (count > 1)
		qsort(names, count, sizeof(struct delta_entry *), compare_names);
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start; end < count &&
				  delta_compare_inodes(&names[end]->new, &names[start]->new) == 0;)
			end++;
		report_group(walk, names + start, end - start);
	}
	if (count == 0)
		return;
	for (size_t i = 0; !walk->options->same && i < delta->count; i++)
		if (delta->items[i].flags & FLAG_SAME)
			delta->items[i].path = NULL;
	delta_drop_nameless(delta);
}
