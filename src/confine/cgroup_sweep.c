/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that dead supervisors left. */
#include "confine/cgroup.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/file/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_PAUSE_MS 5

static bool sweep_owner(int place_fd, const char *path, const char *name, struct strv *removed);

/*
 * PATH, if not NULL, prefixes the names of removed groups in the report. Returns whether there is one whose processes are
 * still ending; a group with processes in it cannot be removed.
 */
static bool sweep_directory(int parent_fd, const char *path, struct strv *removed)
{
	owned(dir_close) DIR *dir = dir_open(parent_fd, ".");
	struct dirent *entry;
	bool is_ending = false;

	while (dir_next(dir, &entry) > 0) {
		if (strncmp(entry->d_name, SPEC_OWNER_PREFIX, strlen(SPEC_OWNER_PREFIX)) == 0) {
			is_ending |= sweep_owner(parent_fd, path, entry->d_name, removed);
			continue;
		}
		if (!owner_is_gone(entry->d_name))
			continue;
		if (unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR) < 0)
			is_ending |= errno == EBUSY && owner_is_young(entry->d_name);
		else if (removed)
			strv_addf(removed, "%s/%s", path, entry->d_name);
	}
	return is_ending;
}

/* What is left in the group of one owner, and that itself if nothing is. */
static bool sweep_owner(int place_fd, const char *path, const char *name, struct strv *removed)
{
	owned(free_ptr) char *inner = path ? xasprintf("%s/%s", path, name) : NULL;
	owned(fd_close) int fd =
		openat(place_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool is_ending = fd >= 0 && sweep_directory(fd, inner, removed);

	if (unlinkat(place_fd, name, AT_REMOVEDIR) == 0 && removed)
		strv_add(removed, inner);
	return is_ending;
}

bool cgroup_sweep_place(const char *path, struct strv *removed)
{
	owned(fd_close) int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	return fd >= 0 && sweep_directory(fd, path, removed);
}

static bool sweep_beside(const struct cgroup *group)
{
	bool is_ending = false;

	for (size_t i = 0; i < group->count; i++)
		is_ending |= sweep_directory(group->parents[i], NULL, NULL);
	if (group->place_fd >= 0)
		is_ending |= sweep_directory(group->place_fd, NULL, NULL);
	for (size_t i = 0; i < group->unused.count; i++)
		is_ending |= cgroup_sweep_place(group->unused.items[i], NULL);
	return is_ending;
}

/* Before the next look; false when there is no time for one. */
static bool rest(unsigned *waited, unsigned timeout_ms)
{
	const struct timespec pause = { .tv_nsec = SWEEP_PAUSE_MS * 1000000 };

	if (*waited >= timeout_ms)
		return false;
	(void)nanosleep(&pause, NULL);
	*waited += SWEEP_PAUSE_MS;
	return true;
}

void cgroup_sweep(const struct cgroup *group, unsigned timeout_ms)
{
	unsigned waited = 0;

	while (sweep_beside(group) && rest(&waited, timeout_ms))
		;
}

void cgroup_sweep_places(const struct strv *paths, unsigned timeout_ms, struct strv *removed)
{
	unsigned waited = 0;
	bool is_ending;

	do {
		is_ending = false;
		for (size_t i = 0; i < paths->count; i++)
			is_ending |= cgroup_sweep_place(paths->items[i], removed);
	} while (is_ending && rest(&waited, timeout_ms));
}

struct places {
	const char *hierarchy;
	struct strv *found;
};

/* What lies below one of ours is removed with it. */
static int note_place(const struct walk_entry *entry, void *cookie)
{
	const struct places *places = cookie;
	size_t len = strlen(entry->path) - strlen(entry->name);

	if (!S_ISDIR(entry->st->stx_mode) || !str_starts(entry->name, OWNER_PREFIX))
		return 0;
	owned(free_ptr) char *place = xasprintf("%s%s%.*s", places->hierarchy, len ? "/" : "",
						len ? (int)len - 1 : 0, entry->path);

	if (!strv_has(places->found, place))
		strv_add(places->found, place);
	return WALK_SKIP;
}

void cgroup_find_places(const char *hierarchy, struct strv *found)
{
	struct places places = { hierarchy, found };
	struct walk walk = { .purpose = WALK_GROUPS, .visit = note_place, .cookie = &places };

	(void)walk_tree(&walk, AT_FDCWD, hierarchy);
}
