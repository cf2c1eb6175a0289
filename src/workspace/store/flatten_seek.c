/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One directory looked up through all layers of a chain, as the kernel does it (ovl_lookup), with a base that is only
 * a path: which of its directories would be asked last.
 */
#include "workspace/store/flatten_parts.h"

#include "base/core/own.h"
#include "workspace/disk/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct seeking {
	const struct flat_unit *unit;
	struct flat_dir *dir; /* what was found */
	struct str name;      /* as redirects left it; a leading slash: from the unit's root */
	bool stop;
};

static void source_done(struct flat_source *source)
{
	fd_close(&source->fd);
	free(source->path);
}

void flat_dir_done(struct flat_dir *dir)
{
	for (size_t i = 0; i < dir->count; i++)
		source_done(&dir->items[i]);
	free(dir->items);
	free(dir->base);
	free(dir->path);
	*dir = (struct flat_dir){ 0 };
}

static int open_beneath(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, root_fd, *path ? path + 1 : ".", &how, sizeof(how));
}

int flat_open(const struct flat_unit *unit, struct flat_dir *dir)
{
	for (size_t i = 0; i < dir->count; i++) {
		struct flat_source *source = &dir->items[i];

		source->fd = open_beneath(unit->root_fds[source->layer], source->path);
		if (source->fd < 0)
			return -1;
	}
	return 0;
}

static void add_source(struct flat_dir *dir, size_t layer, char *path)
{
	dir->items = xrealloc(dir->items, dir->count + 1, sizeof(dir->items[0]));
	dir->items[dir->count++] = (struct flat_source){ layer, path, -1 };
}

void flat_root(const struct flat_unit *unit, struct flat_dir *ret_dir)
{
	*ret_dir = (struct flat_dir){ .base = xstrdup(""), .path = xstrdup("") };
	for (size_t i = 0; i < unit->count; i++) {
		if (unit->root_fds[i] >= 0)
			add_source(ret_dir, i, xstrdup(""));
	}
}

/* How directory FD refers to the layers below it; PART_LEN and REST as for redirect_apply. */
static int read_marks(struct seeking *at, int fd, size_t part_len, size_t rest)
{
	char value[REDIRECT_MAX];
	enum overlay_below below = overlay_read(fd, at->unit->user_xattr, value);

	if (below == OVERLAY_FORGED)
		errno = EBADMSG;
	if (below == OVERLAY_FORGED || below == OVERLAY_UNKNOWN)
		return -1;
	if (below == OVERLAY_OPAQUE)
		at->stop = true;
	if (below != OVERLAY_REDIRECT)
		return 0;
	at->stop &= value[0] != '/';
	redirect_apply(&at->name, part_len, rest, value);
	return 0;
}

/*
 * One part of a name in directory FD: its descriptor in *ret_fd when it is a directory, -1 when there is nothing to go
 * on with. -1 with errno when something failed.
 */
static int step(struct seeking *at, int fd, const char *part, size_t rest, int *ret_fd)
{
	struct stat st;
	owned(fd_close) int found = -1;

	*ret_fd = -1;
	if (fstatat(fd, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode)) {
		at->stop = true;
		return 0;
	}
	found = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0 || read_marks(at, found, strlen(part), rest) < 0)
		return -1;
	*ret_fd = fd_take(&found);
	return 0;
}

/* A path from the unit's root, in one layer. Its beginning may change on the way, what is left to go does not. */
static int follow_path(struct seeking *at, size_t layer)
{
	owned(free_ptr) char *name = xstrdup(at->name.data), *whole = xstrdup(at->name.data);
	owned(fd_close) int fd = fcntl(at->unit->root_fds[layer], F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	for (char *part = name + 1; part;) {
		char *slash = strchr(part, '/');
		size_t rest = slash ? strlen(slash) : 0;
		int next;

		if (slash)
			*slash = '\0';
		if (step(at, fd, part, rest, &next) < 0)
			return -1;
		fd_close(&fd);
		fd = next;
		if (fd < 0)
			return 0;
		part = slash ? slash + 1 : NULL;
	}
	add_source(at->dir, layer, ptr_take(&whole));
	return 0;
}

static int follow_name(struct seeking *at, const struct flat_source *source)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", source->path, at->name.data);
	owned(fd_close) int fd = -1;
	owned(free_ptr) char *name = xstrdup(at->name.data);

	if (step(at, source->fd, name, 0, &fd) < 0)
		return -1;
	if (fd >= 0)
		add_source(at->dir, source->layer, ptr_take(&path));
	return 0;
}

/* Behind an absolute redirect, layers are asked from their roots, whatever the parent was made of. */
static int follow_roots(struct seeking *at, size_t layer)
{
	for (; layer < at->unit->count && !at->stop; layer++) {
		if (at->unit->root_fds[layer] >= 0 && follow_path(at, layer) < 0)
			return -1;
	}
	if (!at->stop)
		at->dir->base = xstrdup(at->name.data);
	return 0;
}

static int follow(struct seeking *at, const struct flat_dir *parent, size_t first)
{
	for (size_t i = first; i < parent->count && !at->stop; i++) {
		if (follow_name(at, &parent->items[i]) < 0)
			return -1;
		if (!at->stop && at->name.data[0] == '/')
			return follow_roots(at, parent->items[i].layer + 1);
	}
	if (!at->stop && parent->base)
		at->dir->base = xasprintf("%s/%s", parent->base, at->name.data);
	return 0;
}

int flat_enter(const struct flat_unit *unit, const struct flat_dir *parent, size_t first,
	       const char *name, struct flat_dir *ret_dir)
{
	struct flat_dir dir = { .path = xasprintf("%s/%s", parent->path, name) };
	struct seeking at = { .unit = unit, .dir = &dir };
	int result;

	str_add(&at.name, name);
	result = follow(&at, parent, first);
	str_done(&at.name);
	if (result < 0) {
		int errnum = errno;

		flat_dir_done(&dir);
		errno = errnum;
		return -1;
	}
	*ret_dir = dir;
	return 0;
}
