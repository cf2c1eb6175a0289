/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the marks of an overlay's layers. */
#include "workspace/disk/overlay.h"

#include "base/core/own.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

const char *overlay_mark_name(bool is_user, const char *key, char name[static 64])
{
	(void)snprintf(name, 64, "%s.overlay.%s", is_user ? "user" : "trusted", key);
	return name;
}

ssize_t overlay_mark(int fd, bool is_user, const char *key, void *value, size_t size)
{
	char name[64];

	return fgetxattr(fd, overlay_mark_name(is_user, key, name), value, size);
}

bool overlay_is_unmarked(int errnum)
{
	return errnum == ENODATA || errnum == ENOTSUP || errnum == ERANGE;
}

enum overlay_below overlay_read(int fd, bool is_user, char value[static REDIRECT_MAX])
{
	ssize_t len = overlay_mark(fd, is_user, "opaque", value, REDIRECT_MAX);

	if (len == 1 && value[0] == 'y')
		return OVERLAY_OPAQUE;
	if (len < 0 && !overlay_is_unmarked(errno))
		return OVERLAY_UNKNOWN;
	len = overlay_mark(fd, is_user, "redirect", value, REDIRECT_MAX - 1);
	if (len < 0 && errno == ERANGE)
		return OVERLAY_FORGED;
	if (len < 0)
		return overlay_is_unmarked(errno) ? OVERLAY_MERGED : OVERLAY_UNKNOWN;
	value[len] = '\0';
	/* In a plain user's overlay the kernel follows none. */
	return is_user || !redirect_is_valid(value, (size_t)len) ? OVERLAY_FORGED
								 : OVERLAY_REDIRECT;
}

static bool is_valid_name(const char *name, size_t len)
{
	bool is_dots =
		(len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');

	return len > 0 && len <= NAME_MAX && !is_dots && !memchr(name, '/', len);
}

bool redirect_is_valid(const char *value, size_t len)
{
	const char *end = value + len;

	if (len == 0 || len >= REDIRECT_MAX || memchr(value, '\0', len))
		return false;
	if (value[0] != '/')
		return is_valid_name(value, len);
	for (const char *at = value; at < end;) {
		const char *next = memchr(at + 1, '/', (size_t)(end - at - 1));

		if (!next)
			next = end;
		if (!is_valid_name(at + 1, (size_t)(next - at - 1)))
			return false;
		at = next;
	}
	return true;
}

void redirect_apply(struct str *name, size_t part_len, size_t rest, const char *value)
{
	owned(str_done) struct str changed = STR_INIT;

	if (value[0] != '/')
		str_add_bytes(&changed, name->data, name->len - rest - part_len);
	str_add(&changed, value);
	str_add_bytes(&changed, name->data + name->len - rest, rest);
	str_done(name);
	*name = changed;
	changed = (struct str)STR_INIT;
}
