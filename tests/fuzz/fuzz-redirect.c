/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the redirect attribute: what is taken for valid never climbs, and changes a name into one that is looked up. */
#include "base/core/own.h"
#include "workspace/disk/overlay.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every part of a path is a plain name. */
static bool is_plain(const char *path)
{
	for (path += *path == '/'; *path; path += *path == '/') {
		size_t len = strcspn(path, "/");

		if (len == 0 || len > 255 || (len < 3 && strncmp(path, "..", len) == 0))
			return false;
		path += len;
	}
	return true;
}

/* The part found is the middle one of three, or the only one. */
static void check(const char *value, const char *before, size_t part_len, size_t rest)
{
	owned(str_done) struct str name = STR_INIT;

	str_add(&name, before);
	redirect_apply(&name, part_len, rest, value);
	if (!is_plain(name.data) || strlen(name.data) != name.len ||
	    (before[0] == '/' && name.data[0] != '/') ||
	    strcmp(name.data + name.len - rest, before + strlen(before) - rest) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(free_ptr) char *value = xmalloc(size + 1);

	memcpy(value, data, size);
	value[size] = '\0';
	if (!redirect_is_valid(value, size))
		return 0;
	if (strlen(value) != size || !is_plain(value))
		abort();
	check(value, "name", 4, 0);
	check(value, "/one/two/three", 3, 6);
	check(value, "/one/two/three", 5, 0);
	return 0;
}
