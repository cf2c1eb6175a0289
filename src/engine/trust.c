/*
 * Which files of workspaces the user trusts: lines of sha256 and path in the user's own configuration.
 *
 * The list is replaced as a whole by rename, under a lock on its directory: whoever reads it sees the
 * old one or the new one, and two changes at once are both kept.
 */
#include "engine/trust.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LIST_NAME "trust"
#define NEW_NAME "trust.new"
#define LIST_BYTES (1024 * 1024)

/* "HEX PATH" of one line, or false when the line is none of ours. */
static bool split_line(const char *line, size_t len, const char **ret_path, size_t *ret_path_len)
{
	if (len < SHA256_HEX_SIZE + 1 || line[SHA256_HEX_SIZE - 1] != ' ' ||
	    line[SHA256_HEX_SIZE] != '/')
		return false;
	*ret_path = line + SHA256_HEX_SIZE;
	*ret_path_len = len - SHA256_HEX_SIZE;
	return true;
}

static bool is_line_of(const char *line, size_t len, const char *path)
{
	const char *at;
	size_t at_len;

	return split_line(line, len, &at, &at_len) && at_len == strlen(path) &&
	       memcmp(at, path, at_len) == 0;
}

/* The list of whoever we are, and nobody else's; empty when there is none. */
static int read_list(int dir_fd, struct str *ret_text)
{
	owned(fd_close) int fd =
		openat(dir_fd, LIST_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		errno = EPERM;
		return -1;
	}
	return fd_read_all(fd, LIST_BYTES, ret_text);
}

bool trust_has(const char *config_dir, const char *path, const void *bytes, size_t len)
{
	owned(fd_close) int dir_fd = open(config_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	owned(str_done) struct str list = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	if (dir_fd < 0 || read_list(dir_fd, &list) < 0)
		return false;
	sha256_hex(bytes, len, hex);
	for (const char *line = str_cstr(&list); *line;) {
		const char *end = strchrnul(line, '\n');

		if (is_line_of(line, (size_t)(end - line), path) &&
		    memcmp(line, hex, SHA256_HEX_SIZE - 1) == 0)
			return true;
		line = end + (*end == '\n');
	}
	return false;
}

/* Makes each missing directory of PATH, for the user alone. */
static int make_dirs(const char *path)
{
	owned(free_ptr) char *copy = xstrdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

static int replace_list(int dir_fd, const struct str *text)
{
	owned(fd_close) int fd = -1;

	/* What a dead process left; the lock says that nobody is writing it now. */
	if (unlinkat(dir_fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return -1;
	fd = openat(dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, str_cstr(text), text->len) < 0 || fsync(fd) < 0)
		return -1;
	return renameat(dir_fd, NEW_NAME, dir_fd, LIST_NAME);
}

/* Writes the list anew without the lines of PATH, and with LINE (may be NULL) at its end. */
static int rewrite(const char *config_dir, const char *path, const char *line, bool *ret_removed)
{
	owned(fd_close) int dir_fd = open(config_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	owned(str_done) struct str list = STR_INIT;
	owned(str_done) struct str out = STR_INIT;

	*ret_removed = false;
	if (dir_fd < 0 || flock(dir_fd, LOCK_EX) < 0 || read_list(dir_fd, &list) < 0)
		return -1;
	for (const char *at = str_cstr(&list); *at;) {
		const char *end = strchrnul(at, '\n');

		if (is_line_of(at, (size_t)(end - at), path)) {
			*ret_removed = true;
		} else {
			str_add_bytes(&out, at, (size_t)(end - at));
			str_add_char(&out, '\n');
		}
		at = end + (*end == '\n');
	}
	if (line)
		str_add(&out, line);
	return replace_list(dir_fd, &out);
}

int trust_add(const char *config_dir, const char *path, const void *bytes, size_t len,
	      struct error *err)
{
	owned(free_ptr) char *line = NULL;
	char hex[SHA256_HEX_SIZE];
	bool removed;

	if (strchr(path, '\n'))
		return error_set(err, ERROR_INPUT, "a path with a line break cannot be trusted");
	sha256_hex(bytes, len, hex);
	line = xasprintf("%s %s\n", hex, path);
	if (make_dirs(config_dir) < 0 || rewrite(config_dir, path, line, &removed) < 0)
		return error_errno(err, ERROR_HOST, "%s/" LIST_NAME, config_dir);
	return 0;
}

int trust_remove(const char *config_dir, const char *path, struct error *err)
{
	bool removed;

	if (rewrite(config_dir, path, NULL, &removed) < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "%s/" LIST_NAME, config_dir);
	if (!removed)
		return error_set(err, ERROR_NOT_FOUND, "%s: not trusted", path);
	return 0;
}
