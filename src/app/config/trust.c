/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of workspaces the user trusts: lines of sha256 and path in the user's own configuration.
 *
 * The list is replaced as a whole by rename, under a lock on its directory: a reader sees the old one or the new one, and
 * two changes at once are both kept.
 */
#include "app/config/trust.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "app/config/own_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define LIST_NAME "trust"

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

bool trust_has(const char *config_dir, const char *path, const void *bytes, size_t len)
{
	owned(fd_close) int dir_fd = open(config_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	owned(str_done) struct str list = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	if (dir_fd < 0 || own_list_read(dir_fd, LIST_NAME, &list) < 0)
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

/* Writes the list anew without the lines of PATH, and with LINE (may be NULL) at its end. */
static int rewrite(const char *config_dir, const char *path, const char *line, bool *ret_removed)
{
	owned(fd_close) int dir_fd = open(config_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	owned(str_done) struct str list = STR_INIT;
	owned(str_done) struct str out = STR_INIT;

	*ret_removed = false;
	if (dir_fd < 0 || flock(dir_fd, LOCK_EX) < 0 || own_list_read(dir_fd, LIST_NAME, &list) < 0)
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
	return own_list_replace(dir_fd, LIST_NAME, &out);
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
	if (dir_make_all(config_dir) < 0 || rewrite(config_dir, path, line, &removed) < 0)
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
