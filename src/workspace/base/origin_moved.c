/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that lie below a directory which was renamed or made inside: what they were copied from had another path. A
 * plain user's directory that was renamed is a copy, marked as one that was made.
 */
#include "base/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/overlay.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Whether directory FD of a layer hides what lies below it, or shows it from another place. */
static bool hides_base(int fd, bool is_user)
{
	char value[REDIRECT_MAX];
	enum overlay_below below = overlay_read(fd, is_user, value);

	/* The kernel follows no redirect in a plain user's overlay. */
	return below == OVERLAY_OPAQUE || below == OVERLAY_REDIRECT ||
	       (below == OVERLAY_FORGED && !is_user);
}

bool origin_is_in_moved(const struct view_stack *stack, const struct delta_side *side)
{
	owned(fd_close) int fd = -1;

	if (!side->exists || side->layer >= stack->count)
		return false;
	fd = openat(stack->layer_fds[side->layer], side->unit,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (const char *part = side->layer_path, *slash; fd >= 0 && (slash = strchr(part, '/'));
	     part = slash + 1) {
		owned(free_ptr) char *name = xstrndup(part, (size_t)(slash - part));
		owned(fd_close) int below =
			openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (below >= 0 && hides_base(below, stack->user_xattr[side->layer]))
			return true;
		fd_close(&fd);
		fd = fd_take(&below);
	}
	return false;
}
