/* SPDX-License-Identifier: Apache-2.0 */
/* Where a renamed directory's content lies. */
#include "workspace/disk/redirect.h"

#include "base/own.h"

#include <linux/limits.h>
#include <string.h>

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
