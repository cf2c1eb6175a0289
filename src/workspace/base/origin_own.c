/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the sandbox's own layers hold where the host had nothing. One that was made in a layer and renamed in the
 * next carries the same note as one of the host's that was copied up; only what it names distinguishes them.
 */
#include "base/core/own.h"
#include "workspace/disk/handle.h"
#include "workspace/base/origin_index.h"

#include <stdlib.h>
#include <sys/stat.h>

struct own_object {
	struct handle handle; /* empty where the filesystem has none */
	uint64_t size;
	struct timespec mtime;
	const struct origin_record *record;
};

struct origin_own {
	bool is_listed;
	struct own_object *items; /* by handle */
	const struct own_object **by_times;
	size_t count, room;
};

struct origin_own *origin_own_new(void)
{
	return xcalloc(1, sizeof(struct origin_own));
}

void origin_own_free(struct origin_own *own)
{
	free(own->by_times);
	free(own->items);
	free(own);
}

static int compare_objects(const void *a, const void *b)
{
	const struct own_object *one = a, *other = b;

	return handle_compare(&one->handle, &other->handle);
}

static int compare_numbers(int64_t one, int64_t other)
{
	return one < other ? -1 : one > other;
}

static int compare_times(const struct own_object *one, const struct own_object *other)
{
	int order = compare_numbers(one->mtime.tv_sec, other->mtime.tv_sec);

	if (order == 0)
		order = compare_numbers(one->mtime.tv_nsec, other->mtime.tv_nsec);
	return order ? order : compare_numbers((int64_t)one->size, (int64_t)other->size);
}

/* Of equals the first listed first. */
static int compare_pointers(const void *a, const void *b)
{
	const struct own_object *one = *(const struct own_object *const *)a;
	const struct own_object *other = *(const struct own_object *const *)b;
	int order = compare_times(one, other);

	return order ? order : (one > other) - (one < other);
}

static void add(struct origin_own *own, const struct view_object *object,
		const struct origin_record *record)
{
	struct own_object found = { .size = (uint64_t)object->st.st_size,
				    .mtime = object->st.st_mtim,
				    .record = record };

	if (!S_ISREG(object->st.st_mode))
		return;
	(void)handle_read(object->dir_fd, object->name, &found.handle);
	if (own->count == own->room) {
		own->room = own->room ? own->room * 2 : 16;
		own->items = xrealloc(own->items, own->room, sizeof(own->items[0]));
	}
	own->items[own->count++] = found;
}

/* The object of RECORD's path in each layer below the top. */
static void add_all(struct origin_own *own, const struct view_stack *stack,
		    const struct origin_record *record)
{
	for (size_t from = 1; from < stack->count;) {
		struct view_object object = { .dir_fd = -1 };
		struct error ignored = { 0 };

		if (view_lookup(stack, from, record->path, &object, &ignored) < 0)
			return;
		from = object.kind == VIEW_LAYER ? object.layer + 1 : stack->count;
		if (object.kind == VIEW_LAYER)
			add(own, &object, record);
		view_object_done(&object);
	}
}

static void list(const struct origin_index *index)
{
	const struct origin_records *touched = &index->touched;
	struct origin_own *own = index->own;

	own->is_listed = true;
	for (size_t i = 0; i < touched->count; i++) {
		const struct origin_record *record = &touched->items[i];

		/* Only the first record of a path is about what the host had there. */
		if (record->origin.quality != ORIGIN_LOST && !record->origin.identity.exists &&
		    origin_records_find(touched, record->path, false) == record)
			add_all(own, index->stack, record);
	}
	if (own->count > 1)
		qsort(own->items, own->count, sizeof(own->items[0]), compare_objects);
	own->by_times = xcalloc(own->count + 1, sizeof(void *));
	for (size_t i = 0; i < own->count; i++)
		own->by_times[i] = &own->items[i];
	if (own->count > 1)
		qsort(own->by_times, own->count, sizeof(void *), compare_pointers);
}

static const struct own_object *find_by_handle(const struct origin_own *own,
					       const struct handle *handle)
{
	const struct own_object asked = { .handle = *handle };
	const struct own_object *found = own->count == 0 ? NULL
							 : bsearch(&asked, own->items, own->count,
								   sizeof(asked), compare_objects);

	return found && handle_is_near(&found->handle, handle) ? found : NULL;
}

static bool is_there(const struct view_stack *stack, size_t from, const char *path)
{
	struct view_object object = { .dir_fd = -1 };
	struct error ignored = { 0 };
	bool is_absent = view_lookup(stack, from, path, &object, &ignored) == 0 &&
			 object.kind == VIEW_ABSENT;

	view_object_done(&object);
	return !is_absent;
}

/* To plain users the kernel's notes say nothing but that it was copied up: then by what a rename does not change. */
static const struct own_object *find_by_times(const struct origin_index *index,
					      const struct delta_side *side)
{
	const struct origin_own *own = index->own;
	const struct own_object asked = { .size = (uint64_t)side->st.st_size,
					  .mtime = side->st.st_mtim };
	size_t low = 0, high = own->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_times(own->by_times[middle], &asked) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < own->count && compare_times(own->by_times[low], &asked) == 0; low++)
		if (!is_there(index->stack, side->layer, own->by_times[low]->record->path))
			return own->by_times[low];
	return NULL;
}

const struct origin_record *origin_own_find(const struct origin_index *index,
					    const struct delta_entry *entry)
{
	const struct delta_side *side = &entry->new;
	const struct own_object *found;
	struct handle note;

	if (!S_ISREG(side->st.st_mode))
		return NULL;
	owned(fd_close) int fd = delta_open_side(index->stack, side);

	if (!index->own->is_listed)
		list(index);
	if (handle_read_note(fd, index->stack->user_xattr[side->layer], &note))
		found = find_by_handle(index->own, &note);
	else
		found = find_by_times(index, side);
	return found ? found->record : NULL;
}
