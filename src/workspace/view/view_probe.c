/* SPDX-License-Identifier: Apache-2.0 */
/* One name in one real directory, seen with an overlay's eyes. */
#include "base/core/own.h"
#include "workspace/disk/lower.h"
#include "workspace/disk/overlay.h"
#include "workspace/view/view_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool is_base(const struct view_root *root, size_t layer)
{
	return layer == root->stack->count;
}

/* The other form of a whiteout: an empty file with a mark. Checked without opening it. 1, 0, or -1 with errno. */
static int is_marked_whiteout(const struct view_root *root, const struct view_source *at,
			      const char *name)
{
	char path[64 + NAME_MAX], mark[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", at->fd, name);
	if (lgetxattr(path, overlay_mark_name(root->stack->user_xattr[at->layer], "whiteout", mark),
		      NULL, 0) >= 0)
		return 1;
	return overlay_is_unmarked(errno) || view_is_nothing(errno) ? 0 : -1;
}

static void take_stat(const struct statx *stx, struct view_stat *ret_stat)
{
	struct stat *st = &ret_stat->st;

	*ret_stat = (struct view_stat){ 0 };
	st->st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	st->st_ino = stx->stx_ino;
	st->st_mode = stx->stx_mode;
	st->st_nlink = (__typeof__(st->st_nlink))stx->stx_nlink;
	st->st_uid = stx->stx_uid;
	st->st_gid = stx->stx_gid;
	st->st_rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor);
	st->st_size = (off_t)stx->stx_size;
	st->st_blksize = (__typeof__(st->st_blksize))stx->stx_blksize;
	st->st_blocks = (blkcnt_t)stx->stx_blocks;
	st->st_atim = (struct timespec){ stx->stx_atime.tv_sec, stx->stx_atime.tv_nsec };
	st->st_mtim = (struct timespec){ stx->stx_mtime.tv_sec, stx->stx_mtime.tv_nsec };
	st->st_ctim = (struct timespec){ stx->stx_ctime.tv_sec, stx->stx_ctime.tv_nsec };
	if (stx->stx_mask & STATX_BTIME)
		ret_stat->btime_ns =
			(uint64_t)stx->stx_btime.tv_sec * 1000000000u + stx->stx_btime.tv_nsec;
}

/* What masks hide is absent, whichever way one came there. */
static bool is_shown(const struct view_root *root, const struct view_source *at, const char *name)
{
	const struct view_stack *stack = root->stack;
	owned(str_done) struct str path = STR_INIT;

	if (!stack->shows)
		return true;
	if (strcmp(root->unit->path, "/") != 0)
		str_add(&path, root->unit->path);
	str_add_bytes(&path, at->path->text.data, at->len);
	str_add_char(&path, '/');
	str_add(&path, name);
	return stack->shows(path.data, stack->cookie);
}

/*
 * What the base does not let be looked at, the sandbox did not see, either. In a layer it is what the sandbox wrote: a
 * directory that it closed, which may be listed and not searched, has all of its files.
 */
static bool is_nothing_at(const struct view_root *root, const struct view_source *at, int errnum)
{
	if (is_base(root, at->layer))
		return view_is_nothing(errnum);
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ENAMETOOLONG;
}

enum view_probe view_probe(const struct view_root *root, const struct view_source *at,
			   const char *name, struct view_stat *ret_stat)
{
	struct statx stx;

	if (statx(at->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
		return is_nothing_at(root, at, errno) ? VIEW_PROBE_ABSENT : VIEW_PROBE_FAILED;
	if (S_ISCHR(stx.stx_mode) && stx.stx_rdev_major == 0 && stx.stx_rdev_minor == 0)
		return VIEW_PROBE_WHITEOUT;
	if (is_base(root, at->layer)) {
		/* An overlay does not see what is mounted on its lower directories. */
		if ((stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) || !is_shown(root, at, name))
			return VIEW_PROBE_ABSENT;
	} else if (S_ISREG(stx.stx_mode) && stx.stx_size == 0) {
		int is_whiteout = is_marked_whiteout(root, at, name);

		if (is_whiteout != 0)
			return is_whiteout < 0 ? VIEW_PROBE_FAILED : VIEW_PROBE_WHITEOUT;
	}
	take_stat(&stx, ret_stat);
	return VIEW_PROBE_THERE;
}

int view_open_directory(const struct view_root *root, const struct view_source *at,
			const char *name)
{
	if (is_base(root, at->layer))
		return lower_open_directory(at->fd, name);
	return openat(at->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}
