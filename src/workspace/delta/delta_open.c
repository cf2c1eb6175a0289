/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching an object that a delta names again, by descriptors, and only if it is still the same. */
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"
#include "workspace/disk/lower.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

/* Where opening a path has got to. */
struct reaching {
	bool is_base;
	int fd;
	char name[NAME_MAX + 1]; /* not opened yet: the last one stays so */
};

/* The base's mounts are entered: the path is the host's own, and the object is known by its numbers. */
static int open_next(const struct reaching *at)
{
	if (at->is_base)
		return openat(at->fd, at->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return lower_open_directory(at->fd, at->name);
}

static int take_name(struct reaching *at, const char *path, size_t start, size_t len)
{
	if (at->name[0]) {
		int next = open_next(at);

		fd_close(&at->fd);
		at->fd = next;
		if (next < 0)
			return -1;
	}
	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(at->name, path + start, len);
	at->name[len] = '\0';
	return 0;
}

static int reach(struct reaching *at, const char *path)
{
	for (size_t start = strspn(path, "/"); path[start];) {
		size_t len = strcspn(path + start, "/");

		if (take_name(at, path, start, len) < 0)
			return -1;
		start += len;
		start += strspn(path + start, "/");
	}
	if (at->name[0] == '\0')
		at->name[0] = '.';
	return 0;
}

/* Of a layer, which is the store's own, the directory above PATH is opened at once: no mask and no mount lies on the way. */
static int reach_in_layer(struct reaching *at, const char *path)
{
	char above[PATH_MAX];

	path += strspn(path, "/");
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = slash ? (size_t)(slash - path) : 0, name_len = strlen(name);

	/* The kernel takes no path as long as this at once. */
	if (len >= sizeof(above) || name_len == 0 || name_len > NAME_MAX)
		return reach(at, path);
	memcpy(at->name, name, name_len + 1);
	if (len == 0)
		return 0;
	memcpy(above, path, len);
	above[len] = '\0';
	int fd = lower_open_directory(at->fd, above);

	fd_close(&at->fd);
	at->fd = fd;
	return fd < 0 ? -1 : 0;
}

int delta_open_parent(const struct view_stack *stack, const struct delta_side *side,
		      char ret_name[static 256])
{
	struct reaching at = { .is_base = side->layer == stack->count };

	/* What masks hide has no content. They are asked once: what lies below something hidden is hidden, too. */
	if (!side->exists || side->layer > stack->count ||
	    (at.is_base && stack->shows && !stack->shows(side->layer_path, stack->cookie))) {
		errno = ENOENT;
		return -1;
	}
	at.fd = at.is_base ? lower_open_root("/")
			   : openat(stack->layer_fds[side->layer], side->unit,
				    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at.fd >= 0 &&
	    (at.is_base ? reach(&at, side->layer_path) : reach_in_layer(&at, side->layer_path)) < 0)
		fd_close(&at.fd);
	memcpy(ret_name, at.name, sizeof(at.name));
	return at.fd;
}

static bool is_unchanged(const struct stat *now, const struct stat *then)
{
	return now->st_dev == then->st_dev && now->st_ino == then->st_ino &&
	       now->st_size == then->st_size && now->st_mtim.tv_sec == then->st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

bool delta_is_from_outside(const struct view_stack *stack, const struct delta_side *side,
			   const char *workspace)
{
	/* Without layers nothing was renamed. */
	return stack->count > 0 && side->exists && side->layer == stack->count &&
	       side->layer_path && workspace && !view_is_below(side->layer_path, workspace);
}

bool delta_is_own(const struct view_stack *stack, const struct delta_side *side,
		  const char *workspace)
{
	return side->exists && side->layer == stack->count && side->layer_path && workspace &&
	       view_is_below(side->layer_path, workspace);
}

int delta_open_side(const struct view_stack *stack, const struct delta_side *side)
{
	char name[256];
	owned(fd_close) int dir_fd = delta_open_parent(stack, side, name);
	owned(fd_close) int fd = dir_fd < 0 ? -1 : lower_open_file(dir_fd, name, &side->st);
	struct stat now;

	if (dir_fd < 0 || (fd < 0 && errno == EACCES))
		return -1;
	if (fd < 0 || fstat(fd, &now) < 0 || !is_unchanged(&now, &side->st)) {
		errno = ESTALE;
		return -1;
	}
	return fd_take(&fd);
}

int delta_xattrs(const struct view_stack *stack, const struct delta_side *side,
		 struct xattr_list *ret_list, struct error *err)
{
	char name[256];
	owned(fd_close) int dir_fd = delta_open_parent(stack, side, name);
	struct view_source source = { .fd = dir_fd, .layer = side->layer };
	struct delta_object object = { .at = &source, .name = name };
	struct stat now;
	unsigned ignored = 0;

	if (dir_fd < 0 || fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, ERROR_HOST, "cannot reach an object of a layer");
	if (now.st_dev != side->st.st_dev || now.st_ino != side->st.st_ino)
		return error_set(err, ERROR_CONFLICT,
				 "an object of a layer was replaced meanwhile");
	if (delta_attributes_read(stack, &object, ret_list, &ignored) < 0)
		return error_errno(err, ERROR_HOST, "cannot read extended attributes");
	return 0;
}
