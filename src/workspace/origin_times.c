/*
 * The base of a path nothing was written down about, from what the kernel left: the birth of the layer's inode, which is
 * when it was copied up, and the mark it then got of where it came from.
 */
#include "workspace/origin_index.h"

#include "base/own.h"
#include "workspace/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HANDLE_MAX 256

/*
 * The inode a mark of the kernel names, or 0: version, magic, length, flags, type, 16 bytes of the filesystem, then what
 * the filesystem calls a file by.
 */
static uint64_t inode_of_handle(const unsigned char *handle, size_t len)
{
	const size_t at = 21;
	uint64_t wide;
	uint32_t narrow;

	if (len < at + 8 || handle[1] != 0xfb)
		return 0;
	switch (handle[4]) {
	case 0x01: /* 32 bits and a generation: ext4, tmpfs */
	case 0x02:
		memcpy(&narrow, handle + at, sizeof(narrow));
		return narrow;
	case 0x81: /* 64 bits: XFS */
	case 0x82:
	case 0x4d: /* btrfs */
	case 0x4e:
	case 0x4f:
		memcpy(&wide, handle + at, sizeof(wide));
		return wide;
	default:
		return 0;
	}
}

/* The directory of a layer that shows at ENTRY's path; -1 with errno. */
static int open_directory(const struct view_stack *stack, const struct delta_entry *entry)
{
	struct view_object object = { .dir_fd = -1 };
	struct error ignored = { 0 };
	int fd = -1;

	if (view_lookup(stack, entry->new.layer, entry->path, &object, &ignored) < 0)
		return -1;
	if (object.kind == VIEW_LAYER)
		fd = openat(object.dir_fd, object.name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	view_object_done(&object);
	return fd;
}

bool origin_is_copied_up(const struct view_stack *stack, const struct delta_entry *entry,
			 uint64_t *ret_ino)
{
	const struct delta_side *side = &entry->new;
	owned(fd_close) int fd = -1;
	unsigned char handle[HANDLE_MAX];
	ssize_t len;

	*ret_ino = 0;
	if (!side->exists || side->layer >= stack->count ||
	    (!S_ISREG(side->st.st_mode) && !S_ISDIR(side->st.st_mode)))
		return false;
	bool is_user = stack->user_xattr[side->layer];

	fd = S_ISREG(side->st.st_mode) ? delta_open_side(stack, side)
				       : open_directory(stack, entry);
	/* Unreadable: nobody can say, and that must not look like something new. */
	if (fd < 0)
		return true;
	/* A renamed directory is new where it is. */
	if (S_ISDIR(side->st.st_mode) &&
	    fgetxattr(fd, is_user ? "user.overlay.redirect" : "trusted.overlay.redirect", NULL,
		      0) >= 0)
		return false;
	len = fgetxattr(fd, is_user ? "user.overlay.origin" : "trusted.overlay.origin", handle,
			sizeof(handle));
	*ret_ino = len > 0 ? inode_of_handle(handle, (size_t)len) : 0;
	return len >= 0 || errno == ERANGE;
}

static uint64_t birth_of(const struct view_object *object)
{
	struct statx stx;

	if (statx(object->dir_fd, object->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BTIME,
		  &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)stx.stx_btime.tv_sec * 1000000000u + stx.stx_btime.tv_nsec;
}

/* When the sandbox first took PATH: the birth of its object in the oldest layer that has one; 0 when unknown. */
static uint64_t first_taken(const struct view_stack *stack, const struct delta_entry *entry)
{
	uint64_t birth = entry->new.exists ? entry->new.btime_ns : 0;
	size_t from = entry->new.exists ? entry->new.layer + 1 : stack->count;

	while (from < stack->count) {
		struct view_object object = { .dir_fd = -1 };
		struct error ignored = { 0 };

		if (view_lookup(stack, from, entry->path, &object, &ignored) < 0)
			return 0;
		bool is_older = object.kind == VIEW_LAYER;

		if (is_older)
			birth = birth_of(&object);
		from = is_older ? object.layer + 1 : stack->count;
		/* Removed below and made anew above: the birth of the new one tells nothing. */
		if (object.kind == VIEW_ABSENT)
			birth = 0;
		view_object_done(&object);
	}
	return birth;
}

/* Whether layers below the top say nothing of PATH. */
static bool is_only_in_top(const struct view_stack *stack, const char *path)
{
	struct view_object object = { .dir_fd = -1 };
	struct error ignored = { 0 };

	if (stack->count <= 1)
		return true;
	if (view_lookup(stack, 1, path, &object, &ignored) < 0)
		return false;
	bool is_base = object.kind == VIEW_BASE;

	view_object_done(&object);
	return is_base;
}

/*
 * A time before the sandbox did anything to PATH, or 0. What the top did, it did after it was last captured, since
 * nothing is written down about it; and after the base was taken, as does every layer unless a refresh moved that.
 */
static uint64_t not_yet_taken(const struct origin_index *index, const char *path)
{
	const struct sandbox *sandbox = index->sandbox;

	if (is_only_in_top(index->stack, path))
		return index->top_at_ns > sandbox->base_ns ? index->top_at_ns : sandbox->base_ns;
	return sandbox->base_ns / 1000000 <= sandbox->created_ms + 1 ? sandbox->base_ns : 0;
}

/* Whether nothing was removed from reality's directory of PATH since the sandbox took it: a removal is noted there. */
static bool is_directory_still(const struct origin_index *index, const char *path)
{
	owned(free_ptr) char *above = xstrdup(path);
	struct txn_identity now;
	char *slash;

	do {
		slash = strrchr(above, '/');
		if (!slash || slash == above)
			return false;
		*slash = '\0';
		if (!target_relative(index->sandbox->workspace, above))
			return false;
		origin_index_look(index, above, &now);
	} while (!now.exists);
	return origin_index_is_before(index, now.ctime_ns, not_yet_taken(index, path));
}

/* Reality has nothing there. Had it something when the sandbox took it? */
static void work_out_absent(const struct origin_index *index, const struct delta_entry *entry,
			    struct origin *origin)
{
	const struct origin_record *own;
	uint64_t ino;

	origin->quality = ORIGIN_EXACT;
	if (entry->from || !origin_is_copied_up(index->stack, entry, &ino) ||
	    is_directory_still(index, entry->path))
		return;
	own = origin_own_find(index, entry);
	if (own) {
		origin->from = own->origin.from ? xstrdup(own->origin.from) : NULL;
		return;
	}
	/* Where the directory was renamed to, there was nothing; the inode is that of the file's old name. */
	if (origin_is_in_moved(index->stack, &entry->new)) {
		origin->identity.ino = ino;
		return;
	}
	/* It was there, that is all there is to know. */
	origin->quality = ORIGIN_LOST;
	origin->identity.exists = true;
	origin->identity.ino = ino;
}

void origin_work_out(const struct origin_index *index, const struct delta_entry *entry,
		     const struct txn_identity *now, struct origin *ret_origin)
{
	*ret_origin = (struct origin){ .quality = ORIGIN_LOST };
	if (!now->exists) {
		work_out_absent(index, entry, ret_origin);
		return;
	}
	if (!origin_index_is_before(index, now->ctime_ns, first_taken(index->stack, entry)) &&
	    !origin_index_is_before(index, now->ctime_ns, not_yet_taken(index, entry->path)))
		return;
	ret_origin->quality = ORIGIN_EXACT;
	ret_origin->identity = *now;
}
