/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders of aisbx itself (store, records, caches, configuration, sockets) and its programs: no promotion writes at or below
 * one, puts one where another of ours would start it, or takes one away, and there is no consent that permits it. What lies
 * there decides what later commands do and run.
 *
 * A folder is known by its path and, where it is there, by its inode: another spelling, a link or a mount on the way to it
 * does not make it another place. Paths are compared without regard to case, since the file system may do so, too.
 */
#include "workspace/promote/promote_own.h"

#include "base/core/own.h"
#include "workspace/disk/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LEVELS_MAX 4096

struct own_folders {
	const struct strv *paths;
	struct txn_identity *identities; /* in the order of PATHS */
};

static void own_folders_done(struct own_folders *folders)
{
	free(folders->identities);
}

/* Whether PATH is DIR or lies below it; both absolute and clean. */
static bool is_within_any_case(const char *path, const char *dir)
{
	size_t len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

	return strncasecmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

static const char *folder_around(const struct own_folders *folders, const char *path)
{
	for (size_t i = 0; i < folders->paths->count; i++)
		if (is_within_any_case(path, folders->paths->items[i]))
			return folders->paths->items[i];
	return NULL;
}

static const char *folder_below(const struct own_folders *folders, const char *path)
{
	for (size_t i = 0; i < folders->paths->count; i++)
		if (folders->identities[i].exists &&
		    is_within_any_case(folders->paths->items[i], path))
			return folders->paths->items[i];
	return NULL;
}

/* The folder that a link at PATH would lead to, whether it is there or not. */
static const char *folder_led_to(const struct own_folders *folders, const char *path)
{
	for (size_t i = 0; i < folders->paths->count; i++)
		if (is_within_any_case(folders->paths->items[i], path))
			return folders->paths->items[i];
	return NULL;
}

/* The folder that IDENTITY, an object of the target, is. */
static const char *folder_of(const struct own_folders *folders, const struct txn_identity *identity)
{
	for (size_t i = 0; identity->exists && i < folders->paths->count; i++) {
		const struct txn_identity *own = &folders->identities[i];

		if (own->exists && own->dev == identity->dev && own->ino == identity->ino)
			return folders->paths->items[i];
	}
	return NULL;
}

static int look_at_folders(const struct strv *paths, struct own_folders *folders, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	folders->paths = paths;
	folders->identities = xcalloc(paths->count + 1, sizeof(struct txn_identity));
	for (size_t i = 0; i < paths->count; i++)
		if (txn_identity_of(AT_FDCWD, paths->items[i], &folders->identities[i]) < 0)
			return error_errno(err, ERROR_HOST, "%s",
					   str_shown(paths->items[i], shown));
	return 0;
}

/* The folder that the directory FD is, or lies in: by its parents, up to the root. */
static int find_above(const struct own_folders *folders, int fd, const char **ret_folder,
		      struct error *err)
{
	owned(fd_close) int at_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct txn_identity now, before = { 0 };

	*ret_folder = NULL;
	for (int i = 0; at_fd >= 0 && i < LEVELS_MAX; i++) {
		if (txn_identity_of(at_fd, "", &now) < 0)
			break;
		*ret_folder = folder_of(folders, &now);
		if (*ret_folder || (now.ino == before.ino && now.dev == before.dev))
			return 0;
		before = now;
		int up_fd = openat(at_fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		close(at_fd);
		at_fd = up_fd;
	}
	return error_errno(err, ERROR_HOST, "cannot look at the directories above the target");
}

/* The folder that one of the directories on the way to RELATIVE is, below the target; the first KNOWN bytes name none. */
static int find_on_way(const struct promote *promote, const struct own_folders *folders,
		       const char *relative, size_t known, const char **ret_folder,
		       struct error *err)
{
	owned(free_ptr) char *path = xstrdup(relative);

	*ret_folder = NULL;
	for (char *slash = strchr(path + known, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct txn_identity now;

		*slash = '\0';
		if (target_see(promote->target_fd, path, &now, err) < 0)
			return -1;
		*ret_folder = folder_of(folders, &now);
		if (*ret_folder || !now.exists)
			return 0;
		*slash = '/';
	}
	return 0;
}

/*
 * How much of PATH names directories that LAST lies in, too, the slash included. Items come in the order of their paths: so
 * each directory is looked at once, however deep the tree is.
 */
static size_t common_way(const char *path, const char *last)
{
	size_t common = 0;

	for (size_t i = 0; last && path[i] && path[i] == last[i]; i++)
		if (path[i] == '/')
			common = i + 1;
	return common;
}

static int own_error(const char *path, const char *folder, bool is_taken, struct error *err)
{
	char shown[STR_SHOWN_SIZE], where[STR_SHOWN_SIZE];

	return error_advise(
		err, ERROR_DENIED, "promote the other changes by their paths",
		is_taken ? "'%s' holds a program or folder of aisbx itself (%s), which no "
			   "promotion takes away"
			 : "'%s' is, lies in, or leads to, a program or folder of aisbx itself "
			   "(%s), where no promotion writes",
		str_shown(path, shown), str_shown(folder, where));
}

static int check_item(const struct promote *promote, const struct own_folders *folders,
		      const struct item *item, size_t known, struct error *err)
{
	owned(free_ptr) char *whole =
		xasprintf("%s/%s", promote->target[1] ? promote->target : "", item->place);
	bool is_directory = item->type == 'd' && target_type(&item->now) == 'd';
	const char *folder = folder_around(folders, whole);

	if (!folder)
		folder = folder_of(folders, &item->now);
	if (!folder && find_on_way(promote, folders, item->place, known, &folder, err) < 0)
		return -1;
	if (folder)
		return own_error(whole, folder, false, err);
	folder = is_directory || !item->now.exists ? NULL : folder_below(folders, whole);
	if (folder)
		return own_error(whole, folder, true, err);
	/* A link in the place of a directory that leads to one: what lies behind it would be ours. */
	folder = item->type == 'l' ? folder_led_to(folders, whole) : NULL;
	return folder ? own_error(whole, folder, false, err) : 0;
}

static int check_target(const struct promote *promote, const struct own_folders *folders,
			struct error *err)
{
	const char *folder = folder_around(folders, promote->target);

	if (!folder && find_above(folders, promote->target_fd, &folder, err) < 0)
		return -1;
	if (folder)
		return own_error(promote->target, folder, false, err);
	folder = promote->request->swap ? folder_below(folders, promote->target) : NULL;
	return folder ? own_error(promote->target, folder, true, err) : 0;
}

int promote_refuse_own(const struct promote *promote, struct error *err)
{
	owned(own_folders_done) struct own_folders folders = { 0 };
	const char *last = NULL;

	if (!promote->request->own_folders || promote->request->into_sandbox)
		return 0;
	if (look_at_folders(promote->request->own_folders, &folders, err) < 0 ||
	    check_target(promote, &folders, err) < 0)
		return -1;
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		if (!item->is_selected || item->fate == FATE_LEFT)
			continue;
		if (check_item(promote, &folders, item, common_way(item->place, last), err) < 0)
			return -1;
		last = item->place;
	}
	return 0;
}
