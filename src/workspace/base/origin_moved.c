/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that lie below a directory which was renamed or made inside: what they were copied from had another path. A
 * plain user's directory that was renamed is a copy, marked as one that was made.
 */
#include "base/core/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Whether directory FD of a layer hides what lies below it, or shows it from another place. 1, 0, or -1 with errno. */
static int hides_base(int fd, bool is_user)
{
	char value[REDIRECT_MAX];
	enum overlay_below below = overlay_read(fd, is_user, value);

	if (below == OVERLAY_UNKNOWN)
		return -1;
	/* The kernel follows no redirect in a plain user's overlay. */
	return below == OVERLAY_OPAQUE || below == OVERLAY_REDIRECT ||
	       (below == OVERLAY_FORGED && !is_user);
}

static int is_opaque(int fd, bool is_user)
{
	char value[REDIRECT_MAX];

	return overlay_read(fd, is_user, value) == OVERLAY_OPAQUE;
}

/* The first directory above PATH of UNIT in LAYER that TEST says yes to, or -1. */
static int open_above(const struct view_stack *stack, size_t layer, const char *unit,
		      const char *path, int (*test)(int fd, bool is_user))
{
	owned(fd_close) int fd = openat(stack->layer_fds[layer], unit,
					O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (const char *part = path, *slash; fd >= 0 && (slash = strchr(part, '/'));
	     part = slash + 1) {
		owned(free_ptr) char *name = xstrndup(part, (size_t)(slash - part));
		owned(fd_close) int below =
			openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (below >= 0 && test(below, stack->user_xattr[layer]) > 0)
			return fd_take(&below);
		fd_close(&fd);
		fd = fd_take(&below);
	}
	return -1;
}

bool origin_is_in_moved(const struct view_stack *stack, const struct delta_side *side)
{
	owned(fd_close) int fd =
		side->exists && side->layer < stack->count
			? open_above(stack, side->layer, side->unit, side->layer_path, hides_base)
			: -1;

	return fd >= 0;
}

bool origin_is_in_made(const struct view_stack *stack, const struct delta_side *side,
		       uint64_t then_ns)
{
	for (size_t i = side->layer; side->exists && i < stack->count; i++) {
		owned(fd_close) int fd =
			open_above(stack, i, side->unit, side->layer_path, is_opaque);
		struct statx stx = { .stx_mask = 0 };

		/* One whose birth is unknown may be as old. */
		if (fd >= 0 &&
		    (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BTIME, &stx) < 0 ||
		     !(stx.stx_mask & STATX_BTIME) ||
		     (uint64_t)stx.stx_btime.tv_sec * 1000000000u + stx.stx_btime.tv_nsec <=
			     then_ns))
			return true;
	}
	return false;
}

/* Opens directory NAME of a layer; 1, 0 when it is something else, with its birth in *ret_birth_ns, or -1 with errno. */
static int step_into(int dir_fd, const char *name, int *ret_fd, uint64_t *ret_birth_ns)
{
	struct statx stx;

	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_BTIME,
		  &stx) < 0)
		return -1;
	*ret_birth_ns = stx.stx_mask & STATX_BTIME ? (uint64_t)stx.stx_btime.tv_sec * 1000000000u +
							     stx.stx_btime.tv_nsec
						   : 0;
	if (!S_ISDIR(stx.stx_mode))
		return 0;
	*ret_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? -1 : 1;
}

int origin_find_cover(const struct view_stack *stack, size_t layer, const char *unit,
		      const char *below, uint64_t *ret_birth_ns)
{
	owned(fd_close) int fd = openat(stack->layer_fds[layer], unit,
					O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0) {
		size_t len = strcspn(below, "/");
		owned(free_ptr) char *name = xstrndup(below, len);
		owned(fd_close) int next = -1;
		int is_dir = step_into(fd, name, &next, ret_birth_ns);

		if (is_dir < 0)
			break;
		int is_cover =
			!is_dir || !below[len] ? 1 : hides_base(next, stack->user_xattr[layer]);

		if (is_cover)
			return is_cover;
		below += len + 1;
		fd_close(&fd);
		fd = fd_take(&next);
	}
	return errno == ENOENT ? 0 : -1;
}
