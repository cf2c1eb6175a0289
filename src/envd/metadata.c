/* SPDX-License-Identifier: Apache-2.0 */
/* What clients note at a file. */
#include "envd/metadata.h"

#include "base/core/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define PREFIX "user.e2b."
#define WORD "metadata-"
/* As the kernel bounds a value, and the list of all names. */
#define VALUE_MAX ((size_t)64 << 10)

/* What it can be given again under is a header: only printable characters are shown. */
static bool is_shown(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (value[i] < ' ' || value[i] > '~')
			return false;
	}
	return true;
}

static void remove_all(int fd)
{
	owned(free_ptr) char *names = xmalloc(VALUE_MAX);
	ssize_t len = flistxattr(fd, names, VALUE_MAX);

	for (const char *at = names; at < names + len; at += strlen(at) + 1) {
		if (str_starts(at, PREFIX))
			(void)fremovexattr(fd, at);
	}
}

void metadata_put(int fd, const struct strv *words)
{
	remove_all(fd);
	/* Behind the method and the path. */
	for (size_t i = 2; i < words->count; i++) {
		const char *key = words->items[i] + strlen(WORD), *equals;

		if (!str_starts(words->items[i], WORD) || !(equals = strchr(key, '=')))
			continue;
		owned(free_ptr) char *name = xasprintf(PREFIX "%.*s", (int)(equals - key), key);

		(void)fsetxattr(fd, name, equals + 1, strlen(equals + 1), 0);
	}
}

void metadata_write(struct json *json, const char *path)
{
	char few[256], value[1024];
	ssize_t len = listxattr(path, few, sizeof(few));
	owned(free_ptr) char *many = NULL;
	const char *names = few;
	bool has_any = false;

	/* Most files have next to none. */
	if (len < 0 && errno == ERANGE) {
		names = many = xmalloc(VALUE_MAX);
		len = listxattr(path, many, VALUE_MAX);
	}
	for (const char *at = names; at < names + len; at += strlen(at) + 1) {
		ssize_t got =
			str_starts(at, PREFIX) ? getxattr(path, at, value, sizeof(value) - 1) : -1;

		if (got < 0 || !is_shown(value, (size_t)got))
			continue;
		value[got] = '\0';
		if (!has_any) {
			json_key(json, "metadata");
			json_open(json, '{');
		}
		has_any = true;
		json_key(json, at + strlen(PREFIX));
		json_text(json, value);
	}
	if (has_any)
		json_close(json, '}');
}
