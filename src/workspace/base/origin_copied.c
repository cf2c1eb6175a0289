/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inodes of the host that the sandbox has copied up, anywhere in its top. When the host renames one of them, the overlay of a
 * root caller may show the sandbox's copy under the new name, too: the kernel finds the inode by the copy's mark, which for
 * plain users names none. They are recorded while the copies are there, since a command may remove them with the new name.
 */
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/handle.h"
#include "workspace/disk/target.h"
#include "workspace/store/moments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct origin_copied {
	bool is_listed;
	const struct txn_identity *
		*items; /* by inode; what was changed last is the copy, when it was born */
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
	const struct txn_identity *one = *(const struct txn_identity *const *)a;
	const struct txn_identity *other = *(const struct txn_identity *const *)b;

	return one->ino < other->ino ? -1 : one->ino > other->ino;
}

static void list(struct origin_copied *copied, const struct origin_records *touched)
{
	copied->is_listed = true;
	copied->items = xcalloc(touched->count + 1, sizeof(void *));
	for (size_t i = 0; i < touched->count; i++)
		if (strcmp(touched->items[i].path, ORIGIN_COPIED) == 0)
			copied->items[copied->count++] = &touched->items[i].origin.identity;
	if (copied->count > 1)
		qsort(copied->items, copied->count, sizeof(void *), compare_inodes);
}

/* The first of inode INO, to be followed by others of it; the end of the list for none. */
static size_t find_first(const struct origin_index *index, uint64_t ino)
{
	struct origin_copied *copied = index->copied;
	size_t low = 0, high;

	if (!copied->is_listed)
		list(copied, &index->touched);
	for (high = copied->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (copied->items[middle]->ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool origin_is_changed_since_copied(const struct origin_index *index,
				    const struct txn_identity *now)
{
	const struct origin_copied *copied = index->copied;

	for (size_t i = find_first(index, now->ino);
	     i < copied->count && copied->items[i]->ino == now->ino; i++) {
		const struct txn_identity *copy = copied->items[i];

		/* A number is used again for another file, whose birth is another one. */
		if ((copy->btime_ns == 0 || copy->btime_ns == now->btime_ns) &&
		    !origin_index_is_before(index, now->ctime_ns, (uint64_t)copy->ctime_ns))
			return true;
	}
	return false;
}

/* A walk of the top for copies that are not recorded yet. */
struct copies_walk {
	const struct sandbox *sandbox;
	const struct view_stack *stack;
	struct origin_index *index; /* opened for the first copy */
	int near_fd;		    /* of the host, on the filesystem that the unit is of */
	uint64_t fresh_ns;
	struct str lines;
	struct error *err;
};

static bool is_recorded(const struct origin_index *index, const struct txn_identity *copy)
{
	const struct origin_copied *copied = index->copied;

	for (size_t i = find_first(index, copy->ino);
	     i < copied->count && copied->items[i]->ino == copy->ino; i++)
		if (copied->items[i]->btime_ns == copy->btime_ns &&
		    copied->items[i]->ctime_ns == copy->ctime_ns)
			return true;
	return false;
}

/* What NOTE names, without its birth where it cannot be opened. False: it has no name any more, and gets none again. */
static bool identify(int near_fd, const struct handle *note, struct txn_identity *ret_identity)
{
	owned(fd_close) int fd = handle_open(near_fd, note);
	struct stat st;

	*ret_identity = (struct txn_identity){ .exists = true, .ino = handle_inode(note) };
	if (fd < 0 || fstat(fd, &st) < 0)
		return ret_identity->ino != 0;
	return st.st_nlink > 0 && txn_identity_of(fd, "", ret_identity) == 0;
}

static int look_at(const struct walk_entry *entry, void *cookie)
{
	struct copies_walk *copies = cookie;
	const struct statx_timestamp *born = &entry->st->stx_btime;
	uint64_t birth_ns = entry->st->stx_mask & STATX_BTIME
				    ? (uint64_t)born->tv_sec * 1000000000u + born->tv_nsec
				    : 0;
	char path[] = ORIGIN_COPIED;
	struct origin_record record = { .path = path, .origin = { .quality = ORIGIN_LOST } };
	struct handle note;

	if (!S_ISREG(entry->st->stx_mode) || (birth_ns && birth_ns < copies->fresh_ns))
		return 0;
	owned(fd_close) int fd =
		openat(entry->dir_fd, entry->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (!handle_read_note(fd, false, &note) ||
	    !identify(copies->near_fd, &note, &record.origin.identity))
		return 0;
	if (!copies->index &&
	    origin_index_open(copies->sandbox, copies->stack, &copies->index, copies->err) < 0)
		return -1;
	record.origin.identity.ctime_ns = (int64_t)birth_ns;
	if (!is_recorded(copies->index, &record.origin.identity))
		origin_records_put(&copies->lines, &record);
	return 0;
}

/* Only what lies on a filesystem of the workspace can be renamed to a name in it, and only within one unit. */
static int look_through(struct walk *walk, const struct layer_units *units)
{
	struct copies_walk *copies = walk->cookie;
	const char *workspace = copies->sandbox->workspace;
	int status = 0;

	for (size_t i = 0; status == 0 && i < units->count; i++) {
		const struct layer_unit *unit = &units->items[i];

		if (!target_relative(unit->path, workspace) &&
		    !target_relative(workspace, unit->path))
			continue;
		copies->near_fd = open(unit->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		status = walk_tree(walk, copies->stack->layer_fds[0], unit->name);
		fd_close(&copies->near_fd);
	}
	return status;
}

int origin_capture_copied(const struct sandbox *sandbox, const struct view_stack *stack,
			  uint64_t until_ns, struct error *err)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	struct copies_walk copies = {
		.sandbox = sandbox, .stack = stack, .near_fd = -1, .lines = STR_INIT, .err = err
	};
	struct walk walk = {
		.purpose = WALK_DRIFT, .visit = look_at, .cookie = &copies, .until_ns = until_ns
	};
	bool is_same_place;
	int status;

	if (stack->count == 0 || stack->user_xattr[0])
		return 0;
	if (layer_units_read(stack->layer_fds[0], &units, err) < 0)
		return -1;
	moments_look(sandbox, &copies.fresh_ns, &is_same_place);
	status = look_through(&walk, &units);
	if (status < 0 || walk.missed)
		status = error_set(err, ERROR_HOST, "not all of the top could be looked at");
	if (status == 0 && copies.lines.len > 0)
		status = origin_records_append(sandbox->dir_fd, "touched", &copies.lines, err);
	str_done(&copies.lines);
	origin_index_close(copies.index);
	return status;
}
