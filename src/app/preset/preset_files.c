/* SPDX-License-Identifier: Apache-2.0 */
/* Files that say something about the user's registries: found and opened, never a workspace's. */
#include "app/preset/preset_files.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/wildcard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#define PATHS_MAX 64
#define ENTRIES_MAX 4096
#define SPECIAL "*?["

const char *preset_variable(const struct preset_place *place, const char *name)
{
	return env_given(place->environ, name);
}

static bool is_workspaces(const struct preset_place *place, const char *real)
{
	return place->workspace && path_is_within(real, place->workspace);
}

/* DIR without links, if it is none of the workspace's. */
static char *outer_directory(const struct preset_place *place, const char *dir)
{
	owned(free_ptr) char *real = dir[0] == '/' ? path_real(dir) : NULL;

	return real && !is_workspaces(place, real) ? ptr_take(&real) : NULL;
}

char *preset_search_path(const struct preset_place *place)
{
	struct str out = STR_INIT;
	const char *at = preset_variable(place, "PATH");

	for (size_t len; at && *at; at += len + (at[len] == ':')) {
		len = strcspn(at, ":");
		owned(free_ptr) char *dir = xstrndup(at, len);
		owned(free_ptr) char *real = outer_directory(place, dir);

		if (real)
			str_addf(&out, "%s%s", out.len ? ":" : "", dir);
	}
	return str_detach(&out);
}

char *preset_program(const struct preset_place *place, const char *name)
{
	owned(free_ptr) char *path = preset_search_path(place);
	const char *at = path;

	for (size_t len; *at; at += len + (at[len] == ':')) {
		len = strcspn(at, ":");
		owned(free_ptr) char *file = xasprintf("%.*s/%s", (int)len, at, name);
		owned(free_ptr) char *real = path_real(file);

		if (real && access(real, X_OK) == 0 && !is_workspaces(place, real))
			return ptr_take(&file);
	}
	return NULL;
}

/* PATTERN with ~, $NAME and %NAME in front made absolute; NULL when that means nothing here. */
static char *absolute(const struct preset_place *place, const char *pattern)
{
	size_t len = strcspn(pattern, "/");
	owned(free_ptr) char *name = xstrndup(pattern + 1, len > 0 ? len - 1 : 0);

	if (pattern[0] == '~')
		return xasprintf("%s%s", place->host->home, pattern + len);
	if (pattern[0] == '$') {
		const char *value = preset_variable(place, name);

		return value && value[0] == '/' ? xasprintf("%s%s", value, pattern + len) : NULL;
	}
	if (pattern[0] == '%') {
		owned(free_ptr) char *found = preset_program(place, name);
		owned(free_ptr) char *program = found ? path_real(found) : NULL;

		/* The real folder, in which ".." leads where it says. */
		return program ? xasprintf("%.*s%s", (int)(strrchr(program, '/') - program),
					   program, pattern + len)
			       : NULL;
	}
	return xstrdup(pattern);
}

/* Appends what matches PART, the pattern's next name, in each directory of DIRS. */
static void match_part(const struct strv *dirs, const char *part, struct strv *found)
{
	for (size_t i = 0; i < dirs->count && found->count < PATHS_MAX; i++) {
		const char *dir = dirs->items[i];
		owned(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		owned(dir_close) DIR *listing = fd < 0 ? NULL : dir_take(&fd);
		struct dirent *entry;

		for (size_t seen = 0; listing && seen < ENTRIES_MAX && found->count < PATHS_MAX &&
				      dir_next(listing, &entry) > 0;
		     seen++) {
			if (entry->d_name[0] != '.' && wildcard_matches(part, entry->d_name, 0))
				strv_addf(found, "%s/%s", dir, entry->d_name);
		}
	}
	strv_sort(found);
}

/* Paths that PATTERN, an absolute one, stands for; without a special character that is itself. */
static void match(const char *pattern, struct strv *ret_found)
{
	struct strv found = STRV_INIT;

	strv_add(&found, "");
	for (size_t len; *pattern; pattern += len) {
		struct strv next = STRV_INIT;

		pattern += strspn(pattern, "/");
		len = strcspn(pattern, "/");
		owned(free_ptr) char *part = xstrndup(pattern, len);

		if (strpbrk(part, SPECIAL))
			match_part(&found, part, &next);
		for (size_t i = 0; !strpbrk(part, SPECIAL) && len > 0 && i < found.count; i++)
			strv_addf(&next, "%s/%s", found.items[i], part);
		strv_done(&found);
		found = next;
	}
	*ret_found = found;
}

void preset_paths(const struct preset_place *place, const char *pattern, struct strv *ret_paths,
		  struct strv *notes)
{
	owned(free_ptr) char *whole = absolute(place, pattern);
	owned(strv_done) struct strv found = STRV_INIT;

	if (!whole)
		return;
	match(whole, &found);
	for (size_t i = 0; i < found.count; i++) {
		char *real = path_real(found.items[i]);

		if (real && is_workspaces(place, real)) {
			strv_addf(notes, "%s is not read: it lies in the workspace",
				  found.items[i]);
			free_ptr(&real);
		}
		if (real)
			strv_take(ret_paths, real);
	}
}

/* Many accounts have a group of their own, and files that it may write. */
static bool may_others_write(const struct stat *st)
{
	return (st->st_uid != geteuid() && st->st_uid != 0) || (st->st_mode & S_IWOTH) ||
	       ((st->st_mode & S_IWGRP) && st->st_gid != getegid() && st->st_gid != 0);
}

bool preset_open(const char *path, int *ret_fd, struct strv *notes)
{
	struct stat st;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, &st);

	if (fd < 0 && file_is_other_kind(errno))
		strv_addf(notes, "%s is not read: not a regular file", path);
	if (fd < 0)
		return false;
	if (may_others_write(&st)) {
		strv_addf(notes,
			  "%s is not read: others may write it (chown it to you, chmod go-w)",
			  path);
		return false;
	}
	*ret_fd = fd_take(&fd);
	return true;
}

bool preset_read(const char *path, struct str *ret_text, struct strv *notes)
{
	owned(fd_close) int fd = -1;

	if (!preset_open(path, &fd, notes))
		return false;
	if (fd_read_all(fd, PRESET_FILE_BYTES, ret_text) == 0)
		return true;
	strv_addf(notes, "%s is not read: %s", path,
		  errno == EFBIG ? "larger than 1 MiB" : error_words(errno));
	return false;
}
