/*
 * Files that were renamed and edited: the kernel noted which file of the base each was copied up from.
 *
 * The note is a handle as the base's filesystem makes it; a deleted file of the base has the same one. It takes more
 * than one system call per file, so it is asked for where something was deleted and a note is there.
 */
#include "base/own.h"
#include "workspace/delta_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define HANDLE_MAX 128
/* Of the note: version, magic, length, flags, type, 16 bytes of the filesystem. */
#define NOTE_MAGIC 1
#define NOTE_TYPE 4
#define NOTE_HANDLE 21
#define MAGIC 0xfb

/* What a filesystem calls a file by. */
struct handle {
	unsigned type;
	size_t len;
	unsigned char bytes[HANDLE_MAX];
	struct delta_half *half;
};

static bool read_note(const struct delta_walk *walk, const struct delta_half *half,
		      struct handle *ret_handle)
{
	const struct delta_side *side = &half->entry->new;
	owned(fd_close) int fd = delta_open_side(walk->stack, side);
	unsigned char note[HANDLE_MAX];
	ssize_t len = fd < 0 ? -1
			     : fgetxattr(fd,
					 walk->stack->user_xattr[side->layer] ? DELTA_USER_ORIGIN
									      : DELTA_ORIGIN,
					 note, sizeof(note));

	if (len <= NOTE_HANDLE || note[NOTE_MAGIC] != MAGIC)
		return false;
	ret_handle->type = note[NOTE_TYPE];
	ret_handle->len = (size_t)len - NOTE_HANDLE;
	memcpy(ret_handle->bytes, note + NOTE_HANDLE, ret_handle->len);
	return true;
}

static bool read_handle(const struct delta_walk *walk, struct delta_half *half,
			struct handle *ret_handle)
{
	union {
		struct file_handle header;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} handle = { .header = { .handle_bytes = HANDLE_MAX } };
	char name[256];
	owned(fd_close) int dir_fd = delta_open_parent(walk->stack, &half->entry->old, name);
	int mount_id;

	if (dir_fd < 0 || name_to_handle_at(dir_fd, name, &handle.header, &mount_id, 0) < 0)
		return false;
	*ret_handle = (struct handle){ .type = (unsigned)handle.header.handle_type,
				       .len = handle.header.handle_bytes,
				       .half = half };
	memcpy(ret_handle->bytes, handle.header.f_handle, ret_handle->len);
	return true;
}

static int compare_handles(const void *a, const void *b)
{
	const struct handle *one = a, *other = b;

	if (one->type != other->type)
		return one->type < other->type ? -1 : 1;
	if (one->len != other->len)
		return one->len < other->len ? -1 : 1;
	return memcmp(one->bytes, other->bytes, one->len);
}

static bool is_noted(const struct delta_half *half)
{
	return !half->is_deleted && half->entry->op == DELTA_ADDED &&
	       (half->entry->flags & FLAG_ORIGIN);
}

static bool is_gone(const struct delta_walk *walk, const struct delta_half *half)
{
	return half->is_deleted && half->entry->path &&
	       half->entry->old.layer == walk->stack->count;
}

/* Handles of the base's files that are gone; none when nobody would ask for them. */
static struct handle *collect(const struct delta_walk *walk, struct delta_half *halves,
			      size_t count, size_t *ret_count)
{
	size_t noted = 0, gone = 0;

	*ret_count = 0;
	for (size_t i = 0; i < count; i++) {
		noted += is_noted(&halves[i]);
		gone += is_gone(walk, &halves[i]);
	}
	if (noted == 0 || gone == 0)
		return NULL;
	struct handle *handles = xcalloc(gone, sizeof(*handles));

	for (size_t i = 0; i < count; i++)
		if (is_gone(walk, &halves[i]))
			*ret_count += read_handle(walk, &halves[i], &handles[*ret_count]);
	return handles;
}

void delta_join_origins(struct delta_walk *walk, struct delta_half *halves, size_t count)
{
	size_t gone;
	owned(free_ptr) struct handle *handles = collect(walk, halves, count, &gone);

	if (gone == 0)
		return;
	qsort(handles, gone, sizeof(*handles), compare_handles);
	for (size_t i = 0; i < count; i++) {
		struct handle note = { 0 };

		if (!is_noted(&halves[i]) || !read_note(walk, &halves[i], &note))
			continue;
		const struct handle *found =
			bsearch(&note, handles, gone, sizeof(note), compare_handles);

		if (found && found->half->entry->path &&
		    !((found->half->entry->flags ^ halves[i].entry->flags) & FLAG_OUTSIDE))
			delta_join(walk, found->half, &halves[i]);
	}
}

/* In what the two differ besides their paths. */
static unsigned compare(struct delta_walk *walk, const struct delta_side *new,
			const struct delta_side *old, unsigned *flags)
{
	char new_name[256], old_name[256];
	owned(fd_close) int new_fd = delta_open_parent(walk->stack, new, new_name);
	owned(fd_close) int old_fd = delta_open_parent(walk->stack, old, old_name);
	struct view_source new_at = { .fd = new_fd, .layer = new->layer };
	struct view_source old_at = { .fd = old_fd, .layer = old->layer };
	struct view_stat new_stat = { .st = new->st }, old_stat = { .st = old->st };
	struct delta_object ours = { .at = &new_at, .name = new_name, .stat = &new_stat };
	struct delta_object theirs = { .at = &old_at, .name = old_name, .stat = &old_stat };

	if (new_fd < 0 || old_fd < 0)
		return ASPECT_CONTENT;
	return delta_compare(walk, &ours, &theirs, flags);
}

/* In the place of the addition; the deletion loses its path and is dropped at the end. */
void delta_join(struct delta_walk *walk, struct delta_half *from, struct delta_half *to)
{
	struct delta_entry *entry = to->entry;

	entry->op = DELTA_RENAMED;
	entry->from = from->entry->path;
	entry->old = from->entry->old;
	entry->aspects = ASPECT_PATH | compare(walk, &entry->new, &entry->old, &entry->flags);
	from->entry->path = NULL;
}
