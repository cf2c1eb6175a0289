/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a git configuration names, looked at before git opens them: git waits for a fifo.
 *
 * The scan takes more for a path than git does (every value of every key), and follows includes whatever their condition
 * is: what it wrongly takes for a path is hardly ever the name of a fifo or a device.
 */
#include "app/git/git_plain.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define CONFIG_MAX ((size_t)1 << 20)
#define FILES_MAX 64
#define VALUES_MAX 10000
/* As many as git follows. */
#define DEPTH_MAX 10

struct config_scan {
	unsigned files, values, depth;
	struct error *err;
};

static int scan_file(struct config_scan *scan, const char *path);

static int refuse(const struct config_scan *scan, const char *path, const char *what)
{
	char shown[STR_SHOWN_SIZE];

	return error_advise(scan->err, ERROR_DENIED, "look at it and remove it",
			    "'%s', which a git configuration names, %s: git is not started",
			    str_shown(path, shown), what);
}

static int check_path(struct config_scan *scan, const char *path, bool is_include)
{
	struct stat st;

	/* A link to /dev/null is a usual way to have none. */
	if (stat(path, &st) < 0 || S_ISDIR(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
		return 0;
	if (!S_ISREG(st.st_mode))
		return refuse(scan, path, "is no regular file");
	if (!is_include || scan->depth >= DEPTH_MAX)
		return 0;
	scan->depth++;
	int status = scan_file(scan, path);

	scan->depth--;
	return status;
}

/* Relative values are relative to their file, or to the top of the work tree. */
static int check_value(struct config_scan *scan, const char *file, const char *value,
		       bool is_include)
{
	const char *slash = strrchr(file, '/'), *home = getenv("HOME");
	int dir_len = slash ? (int)(slash - file) : 0;
	bool is_home = value[0] == '~' && value[1] == '/' && home;
	owned(free_ptr) char *beside = value[0] == '/' ? xstrdup(value)
				       : is_home       ? xasprintf("%s%s", home, value + 1)
						       : xasprintf("%.*s/%s", dir_len, file, value);
	owned(free_ptr) char *above =
		value[0] == '/' || is_home ? NULL : xasprintf("%.*s/../%s", dir_len, file, value);

	if (!*value)
		return 0;
	if (check_path(scan, beside, is_include) < 0)
		return -1;
	return above ? check_path(scan, above, false) : 0;
}

/* Takes the value at AT, up to the end of its line, without quotes and escapes. What is too long for a path is cut. */
static void take_value(const char *at, struct str *value)
{
	bool is_quoted = false;
	size_t end = 0; /* of what is not trailing blanks */

	for (; *at && *at != '\n' && value->len < PATH_MAX; at++) {
		char byte = *at;

		if (!is_quoted && (byte == '#' || byte == ';'))
			break;
		if (byte == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (byte == '\\' && at[1]) {
			at += at[1] == '\r' && at[2] == '\n' ? 2 : 1;
			byte = *at;
			/* A line that goes on; the other escapes stand for bytes that no path here has. */
			if (byte == '\n')
				continue;
		}
		str_add_bytes(value, &byte, 1);
		if (is_quoted || !strchr(" \t\r", byte))
			end = value->len;
	}
	str_truncate(value, end);
}

/* Whether the key that ends before the equals sign at EQUALS is "path". */
static bool is_path_key(const char *text, const char *equals)
{
	while (equals > text && strchr(" \t", equals[-1]))
		equals--;
	return equals - text >= 4 && strncasecmp(equals - 4, "path", 4) == 0;
}

static int scan_file(struct config_scan *scan, const char *path)
{
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, NULL);
	owned(str_done) struct str text = STR_INIT;

	if (fd < 0)
		return 0;
	if (++scan->files > FILES_MAX)
		return refuse(scan, path, "is one of too many");
	if (fd_read_all(fd, CONFIG_MAX, &text) < 0)
		return errno == EFBIG ? refuse(scan, path, "is larger than 1 MiB") : 0;
	const char *start = str_cstr(&text);

	if (strlen(start) != text.len)
		return refuse(scan, path, "is no text");
	/* Each equals sign may be the one: the condition of an include, on the same line, may have others. */
	for (const char *at = start; (at = strchr(at, '=')) != NULL; at++) {
		owned(str_done) struct str value = STR_INIT;

		if (++scan->values > VALUES_MAX)
			return refuse(scan, path, "is one of too many values");
		take_value(at + 1 + strspn(at + 1, " \t"), &value);
		if (check_value(scan, path, str_cstr(&value), is_path_key(start, at)) < 0)
			return -1;
	}
	return 0;
}

int git_plain_check_named(const char *config, struct error *err)
{
	struct config_scan scan = { .err = err };

	return scan_file(&scan, config);
}
