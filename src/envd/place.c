/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as clients write them, and the account. */
#include "envd/place.h"

#include "base/core/own.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What E2B calls the account of its sandboxes. */
#define DEFAULT_USER "user"
/* And its directory, which programs name in full. It is no scratch directory: what is in it is part of a snapshot. */
#define DEFAULT_HOME "/home/user"
#define ACCOUNTS_MAX ((size_t)1 << 20)

const char *place_home(void)
{
	const char *home = getenv("HOME");

	return home && home[0] == '/' ? home : "/";
}

void place_settle(void)
{
	if (place_make_parents(DEFAULT_HOME "/") == 0 && access(DEFAULT_HOME, W_OK | X_OK) == 0)
		(void)setenv("HOME", DEFAULT_HOME, 1);
	if (chdir(place_home()) < 0)
		(void)!chdir("/");
}

/* By words alone, as E2B does: a link before a .. is not followed. */
static char *clean(const char *path)
{
	struct str out = STR_INIT;

	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.') {
			while (out.len > 0 && out.data[--out.len] != '/')
				;
			str_truncate(&out, out.len);
		} else if (len > 0 && !(len == 1 && at[0] == '.')) {
			str_add_char(&out, '/');
			str_add_bytes(&out, at, len);
		}
		at += len;
		at += strspn(at, "/");
	}
	if (out.len == 0)
		str_add_char(&out, '/');
	return str_detach(&out);
}

char *place_of(const char *path)
{
	owned(free_ptr) char *joined = NULL;

	if (path[0] == '/')
		return clean(path);
	if (path[0] == '~' && path[1] && path[1] != '/')
		return NULL;
	joined = xasprintf("%s/%s", place_home(), path[0] == '~' ? path + 1 : path);
	return clean(joined);
}

bool place_check_user(struct call *call)
{
	const char *name = call_word(call, "user");

	if (!name || !*name || strcmp(name, DEFAULT_USER) == 0)
		return true;
	owned(free_ptr) char *own = place_name_of("/etc/passwd", getuid());

	if (strcmp(name, own) == 0)
		return true;
	if (call->route->kind == ROUTE_PLAIN)
		call_refuse(call, 401, "no account '%.64s' here: everything runs as '%s'", name,
			    own);
	else
		call_fail(call, "unauthenticated",
			  "no account '%.64s' here: everything runs as '%s'", name, own);
	return false;
}

int place_make_parents(const char *path)
{
	owned(free_ptr) char *copy = xstrdup(path);

	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -1;
		*at = '/';
	}
	return 0;
}

char *place_name_of(const char *file, unsigned id)
{
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;

	if (file_read(AT_FDCWD, file, ACCOUNTS_MAX, &text, &ignored) == 0) {
		for (const char *line = str_cstr(&text), *next; *line; line = next) {
			const char *colon = strchr(line, ':');

			next = line + strcspn(line, "\n");
			next += *next == '\n';
			const char *second = colon ? strchr(colon + 1, ':') : NULL;

			if (second && second < next && strtoul(second + 1, NULL, 10) == id &&
			    second[1] >= '0' && second[1] <= '9')
				return xstrndup(line, (size_t)(colon - line));
		}
	}
	return xasprintf("%u", id);
}

char *place_owner(const char *file, unsigned id)
{
	bool is_own = strcmp(file, "/etc/group") == 0 ? id == getgid() : id == getuid();

	return is_own ? xstrdup(DEFAULT_USER) : place_name_of(file, id);
}
