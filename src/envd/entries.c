/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about files and directories: listed, looked at, made, moved, removed. */
#include "envd/entries.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/real_path.h"
#include "base/file/tree.h"
#include "base/process/child.h"
#include "envd/metadata.h"
#include "envd/place.h"
#include "envd/routes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES_MAX 50000
#define DEPTH_MAX 64

extern char **environ;

static void write_permissions(struct json *json, mode_t mode)
{
	static const char letters[] = "rwxrwxrwx";
	char text[11] = { S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'L' : '-' };

	for (unsigned i = 0; i < 9; i++)
		text[i + 1] = mode & (0400u >> i) ? letters[i] : '-';
	json_key(json, "permissions");
	json_text(json, text);
	json_key(json, "mode");
	json_int(json, mode & 0777);
}

static void write_owner(struct json *json, const char *key, const char *file, unsigned id)
{
	owned(free_ptr) char *name = place_owner(file, id);

	json_key(json, key);
	json_text(json, name);
}

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode)   ? "FILE_TYPE_DIRECTORY"
	       : S_ISREG(mode) ? "FILE_TYPE_FILE"
	       : S_ISLNK(mode) ? "FILE_TYPE_SYMLINK"
			       : "FILE_TYPE_UNSPECIFIED";
}

/* A link shows what it leads to, and says that it is one. */
static void write_link(struct json *json, const char *path)
{
	owned(free_ptr) char *target = path_real(path);

	json_key(json, "isSymlink");
	json_bool(json, true);
	json_key(json, "symlinkTarget");
	json_text(json, target ? target : path);
}

bool entry_write(struct json *json, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st, target;
	char text[32];

	if (lstat(path, &st) < 0)
		return false;
	bool is_link = S_ISLNK(st.st_mode);

	if (!is_link || stat(path, &target) < 0)
		target = st;
	json_open(json, '{');
	json_key(json, "name");
	json_text(json, path[1] ? slash + 1 : "/");
	json_key(json, "type");
	json_text(json, kind_of(target.st_mode));
	json_key(json, "path");
	json_text(json, path);
	json_key(json, "size");
	(void)snprintf(text, sizeof(text), "%lld", (long long)target.st_size);
	json_text(json, text);
	write_permissions(json, target.st_mode);
	write_owner(json, "owner", "/etc/passwd", target.st_uid);
	write_owner(json, "group", "/etc/group", target.st_gid);
	json_key(json, "modifiedTime");
	time_format_utc(clock_ns_of(&target.st_mtim) / 1000000, text);
	json_text(json, text);
	if (is_link)
		write_link(json, path);
	else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		metadata_write(json, path);
	json_close(json, '}');
	return true;
}

/* The absolute path that a message has by NAME; else it was answered. */
static char *path_in(struct call *call, const struct value *message, const char *name)
{
	const char *given = value_get_text(message, name);
	char *path;

	if (!place_check_user(call))
		return NULL;
	path = place_of(given ? given : "");
	if (!path)
		call_fail(call, "invalid_argument", "%.200s: only your own ~ is known", given);
	return path;
}

static void answer_entry(struct call *call, const char *path)
{
	owned(str_done) struct str out = STR_INIT;
	struct json json;

	json_init(&json, &out);
	json_open(&json, '{');
	json_key(&json, "entry");
	if (!entry_write(&json, path)) {
		call_fail_errno(call, errno, path);
		return;
	}
	json_close(&json, '}');
	call_message(call, &out);
}

void entries_stat(struct call *call, const struct value *message)
{
	owned(free_ptr) char *path = path_in(call, message, "path");

	if (path)
		answer_entry(call, path);
}

struct listing {
	struct json json;
	size_t count;
};

static int read_names(const char *path, struct strv *ret_names)
{
	owned(dir_close) DIR *dir = opendir(path);
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0 && ret_names->count < ENTRIES_MAX)
		strv_add(ret_names, entry->d_name);
	strv_sort(ret_names);
	return more;
}

/* A directory below, which may go meanwhile or be closed to us, is listed as empty. */
/* NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX bounds it */
static int list_directory(struct listing *listing, const char *path, unsigned depth)
{
	owned(strv_done) struct strv names = STRV_INIT;
	int status = read_names(path, &names);

	for (size_t i = 0; i < names.count && listing->count < ENTRIES_MAX; i++) {
		owned(free_ptr) char *below =
			xasprintf("%s/%s", path[1] ? path : "", names.items[i]);
		struct stat st;

		if (!entry_write(&listing->json, below))
			continue;
		listing->count++;
		if (depth > 1 && lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			(void)list_directory(listing, below, depth - 1);
	}
	return status;
}

void entries_list(struct call *call, const struct value *message)
{
	owned(free_ptr) char *path = path_in(call, message, "path");
	owned(str_done) struct str out = STR_INIT;
	int64_t depth = value_int_of(message, "depth");
	struct listing listing = { .count = 0 };

	if (!path)
		return;
	json_init(&listing.json, &out);
	json_open(&listing.json, '{');
	json_key(&listing.json, "entries");
	json_open(&listing.json, '[');
	depth = depth < 1 ? 1 : depth > DEPTH_MAX ? DEPTH_MAX : depth;
	if (list_directory(&listing, path, (unsigned)depth) < 0) {
		call_fail_errno(call, errno, path);
		return;
	}
	json_close(&listing.json, ']');
	json_close(&listing.json, '}');
	call_message(call, &out);
}

void entries_make(struct call *call, const struct value *message)
{
	owned(free_ptr) char *path = path_in(call, message, "path");
	struct stat st;

	if (!path)
		return;
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		call_fail(call, "invalid_argument", "%s is there, and no directory", path);
	else if (place_make_parents(path) < 0 || mkdir(path, 0755) < 0)
		call_fail_errno(call, errno, path);
	else
		answer_entry(call, path);
}

/* Between two file systems, of which a sandbox has several, a rename is a copy. */
static int move(const char *from, const char *to)
{
	owned(strv_done) struct strv words = STRV_INIT;
	struct error ignored;

	if (rename(from, to) == 0)
		return 0;
	if (errno != EXDEV)
		return -1;
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	strv_add(&words, "mv");
	strv_add(&words, "-fT");
	strv_add(&words, "--");
	strv_add(&words, from);
	strv_add(&words, to);
	const struct child_exec exec = { .words = words.items,
					 .environ = environ,
					 .streams = { null_fd, null_fd, null_fd } };
	pid_t pid = child_exec(&exec, &ignored);

	if (pid > 0 && child_exit_code(child_wait(pid)) == 0)
		return 0;
	errno = EXDEV;
	return -1;
}

void entries_move(struct call *call, const struct value *message)
{
	owned(free_ptr) char *from = path_in(call, message, "source");
	owned(free_ptr) char *to = from ? path_in(call, message, "destination") : NULL;
	struct stat st;

	if (!to)
		return;
	if (lstat(from, &st) < 0)
		call_fail_errno(call, errno, from);
	else if (place_make_parents(to) < 0 || move(from, to) < 0)
		call_fail_errno(call, errno, to);
	else
		answer_entry(call, to);
}

void entries_remove(struct call *call, const struct value *message)
{
	owned(free_ptr) char *path = path_in(call, message, "path");
	owned(str_done) struct str json = STR_INIT;

	if (!path)
		return;
	if (!path[1]) {
		call_fail(call, "invalid_argument", "/ cannot be removed");
		return;
	}
	if (tree_remove(AT_FDCWD, path) < 0 && errno != ENOENT) {
		call_fail_errno(call, errno, path);
		return;
	}
	str_add(&json, "{}");
	call_message(call, &json);
}
