/* SPDX-License-Identifier: Apache-2.0 */
/* Walking what is below a directory: a stack of open directories, bounded. */
#include "workspace/disk/txn_walk.h"

#include "base/dir.h"
#include "base/own.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct level {
	DIR *dir;
	size_t path_len;
	struct statx st;
};

struct walk {
	struct level *levels;
	size_t depth;
	struct str path;
	bool visits_leaving;
	walk_visit *visit;
	void *cookie;
};

static int enter(struct walk *walk, int dir_fd, const char *name, const struct statx *st)
{
	if (walk->depth >= WALK_DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	DIR *dir = dir_open(dir_fd, name);

	if (!dir)
		return -1;
	walk->levels = xrealloc(walk->levels, walk->depth + 1, sizeof(*walk->levels));
	walk->levels[walk->depth++] = (struct level){
		.dir = dir,
		.path_len = walk->path.len,
		.st = *st,
	};
	return 0;
}

static int leave(struct walk *walk)
{
	struct level *level = &walk->levels[walk->depth - 1];
	int result = 0;

	str_truncate(&walk->path, level->path_len);
	if (walk->visits_leaving && walk->depth > 1) {
		const char *path = str_cstr(&walk->path), *slash = strrchr(path, '/');
		struct walk_entry entry = {
			.dir_fd = dirfd(walk->levels[walk->depth - 2].dir),
			.name = slash ? slash + 1 : path,
			.path = path,
			.st = &level->st,
			.is_leaving = true,
		};

		result = walk->visit(&entry, walk->cookie);
	}
	(void)closedir(level->dir);
	walk->depth--;
	return result;
}

static int visit(struct walk *walk, const char *name)
{
	struct level *level = &walk->levels[walk->depth - 1];
	int dir_fd = dirfd(level->dir);
	struct statx st;

	str_truncate(&walk->path, level->path_len);
	if (walk->path.len > 0)
		str_add_char(&walk->path, '/');
	str_add(&walk->path, name);
	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st) < 0)
		return -1;
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) {
		errno = EXDEV;
		return -1;
	}
	struct walk_entry entry = {
		.dir_fd = dir_fd,
		.name = name,
		.path = str_cstr(&walk->path),
		.st = &st,
	};

	if (walk->visit(&entry, walk->cookie) < 0)
		return -1;
	return S_ISDIR(st.stx_mode) ? enter(walk, dir_fd, name, &st) : 0;
}

static int run(struct walk *walk)
{
	while (walk->depth > 0) {
		struct dirent *entry;
		int more = dir_next(walk->levels[walk->depth - 1].dir, &entry);

		if (more < 0 || (more > 0 ? visit(walk, entry->d_name) : leave(walk)) < 0)
			return -1;
	}
	return 0;
}

static int walk_from(struct walk *walk, int dir_fd, const char *name)
{
	struct statx st = { 0 };
	int result = enter(walk, dir_fd, name, &st);

	if (result == 0)
		result = run(walk);
	int saved = errno;

	while (walk->depth > 0)
		(void)closedir(walk->levels[--walk->depth].dir);
	free(walk->levels);
	str_done(&walk->path);
	errno = saved;
	return result;
}

bool walk_is_too_deep(const char *path)
{
	int depth = 0;

	for (path = strchr(path, '/'); path && depth < WALK_DEPTH_MAX; path = strchr(path + 1, '/'))
		depth++;
	return depth >= WALK_DEPTH_MAX;
}

int walk_tree(int dir_fd, const char *name, walk_visit *visit_entry, void *cookie)
{
	struct walk walk = { .visit = visit_entry, .cookie = cookie };

	return walk_from(&walk, dir_fd, name);
}

int walk_tree_both(int dir_fd, const char *name, walk_visit *visit_entry, void *cookie)
{
	struct walk walk = { .visit = visit_entry, .cookie = cookie, .visits_leaving = true };

	return walk_from(&walk, dir_fd, name);
}
