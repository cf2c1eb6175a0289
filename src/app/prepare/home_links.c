/* SPDX-License-Identifier: Apache-2.0 */
/* Links in the caller's home that credentials may lie behind. */
#include "app/prepare/home_links.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MEMORY_NS UINT64_C(1000000000)
#define SETTLED_NS INT64_C(100000000)

/* A look at a home, as it goes on. */
struct look {
	const char *home;
	int home_fd;
	struct home_memory *memory;
	struct plan_paths *paths;
};

static void add_link(const struct look *look, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s", look->home, name);
	struct plan_paths *paths = look->paths;

	/* A link that leads nowhere shows nothing. */
	if (len <= 0 || (size_t)len >= sizeof(path) || !path_real_into(path, target))
		return;
	paths->links = xrealloc(paths->links, paths->link_count + 1, sizeof(*paths->links));
	paths->links[paths->link_count++] =
		(struct plan_link){ .name = xstrdup(name), .target = xstrdup(target) };
}

/* Long enough ago that a change from now on has another time, however coarse the clock of the files is. */
static bool is_settled(const struct timespec *changed)
{
	struct timespec now;
	int64_t age_ns;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	age_ns = (int64_t)(now.tv_sec - changed->tv_sec) * 1000000000 + now.tv_nsec -
		 changed->tv_nsec;
	return age_ns > SETTLED_NS;
}

/* Before it is read: what changes meanwhile has changed since. */
static void remember(const struct look *look, DIR *dir, const char *name)
{
	struct home_memory *memory = look->memory;
	struct home_directory *place;
	struct stat st;

	if (!memory || !memory->is_whole)
		return;
	memory->is_whole = dir && memory->count < HOME_DIRECTORIES_MAX &&
			   strlen(name) < HOME_NAME_SIZE && fstat(dirfd(dir), &st) == 0 &&
			   is_settled(&st.st_ctim);
	if (!memory->is_whole)
		return;
	place = &memory->directories[memory->count++];
	*place = (struct home_directory){ .device = st.st_dev,
					  .inode = st.st_ino,
					  .changed = st.st_ctim };
	memcpy(place->name, name, strlen(name));
}

/* Behind a link changes go unnoticed here. */
static void forget(const struct look *look)
{
	if (look->memory)
		look->memory->is_whole = false;
}

static void read_links(const struct look *look, const char *prefix);

/* NAME has room for a slash behind it. Some filesystems do not report kinds; what is no link leads to itself. */
static void look_at(const struct look *look, char *name, size_t len, unsigned char kind)
{
	bool may_be_link = kind == DT_LNK || kind == DT_UNKNOWN;
	bool may_follow = plan_link_may_follow(name);
	bool matters = may_be_link && plan_link_matters(name);

	if (matters || (may_be_link && may_follow))
		forget(look);
	if (matters)
		add_link(look, name);
	if (!may_follow)
		return;
	name[len] = '/';
	name[len + 1] = '\0';
	read_links(look, name);
}

/*
 * One pass over the names of the home and of those few directories below it that credentials lie in, and a closer look at
 * links that matter. PREFIX is "" or ends in a slash, so that such a directory may be a link as well.
 */
static void read_links(const struct look *look, const char *prefix)
{
	owned(dir_close) DIR *dir = dir_open(look->home_fd, *prefix ? prefix : ".");
	struct dirent *entry;
	char name[PATH_MAX];

	remember(look, dir, *prefix ? prefix : ".");
	while (dir_next(dir, &entry) > 0) {
		if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN &&
		    entry->d_type != DT_DIR)
			continue;
		int len = snprintf(name, sizeof(name), "%s%s", prefix, entry->d_name);

		if (len > 0 && (size_t)len + 1 < sizeof(name))
			look_at(look, name, (size_t)len, entry->d_type);
	}
}

static bool is_unchanged(int home_fd, const struct home_directory *place)
{
	struct stat st;

	return fstatat(home_fd, place->name, &st, 0) == 0 && st.st_dev == place->device &&
	       st.st_ino == place->inode && st.st_ctim.tv_sec == place->changed.tv_sec &&
	       st.st_ctim.tv_nsec == place->changed.tv_nsec;
}

/* Whether it is still known that there are none. */
static bool is_remembered(int home_fd, const struct home_memory *memory)
{
	if (!memory || memory->read_ns == 0 || clock_now_ns() - memory->read_ns > MEMORY_NS)
		return false;
	for (unsigned i = 0; i < memory->count; i++) {
		if (!is_unchanged(home_fd, &memory->directories[i]))
			return false;
	}
	return true;
}

void home_links_read(const char *home, struct home_memory *memory, struct plan_paths *paths)
{
	owned(fd_close) int home_fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct look look = { home, home_fd, memory, paths };
	uint64_t now_ns = clock_now_ns();

	if (home_fd < 0 || is_remembered(home_fd, memory))
		return;
	if (memory)
		*memory = (struct home_memory){ .is_whole = true };
	read_links(&look, "");
	if (memory && memory->is_whole && paths->link_count == 0)
		memory->read_ns = now_ns;
}
