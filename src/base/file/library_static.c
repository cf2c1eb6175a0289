/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries of a static program: libarchive and libzstd are linked, and no other can be loaded. */
#include "base/file/archive_functions.h"
#include "base/file/library.h"
#include "base/file/zstd_functions.h"

#include <string.h>

typedef void (*function)(void);

/* By name alone: what they take and return is known to the library's one user. */
#define DECLARE(name) extern void name(void);
ARCHIVE_FUNCTIONS(DECLARE)
ZSTD_FUNCTIONS(DECLARE)
#undef DECLARE

static function find(const char *name)
{
	static const struct {
		const char *name;
		function address;
	} linked[] = {
#define ROW(name) { #name, name },
		ARCHIVE_FUNCTIONS(ROW) ZSTD_FUNCTIONS(ROW)
#undef ROW
	};

	for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++) {
		if (strcmp(linked[i].name, name) == 0)
			return linked[i].address;
	}
	return NULL;
}

int library_load(const struct library *library, void *ret_functions, struct error *err)
{
	for (size_t i = 0; i < library->count; i++) {
		function found = find(library->rows[i].name);

		if (!found) {
			(void)error_set(err, ERROR_HOST, "this static program has no %s",
					library->file);
			return error_add_hint(
				err, "take the Debian package of aisbx, or build it from its "
				     "sources");
		}
		memcpy((char *)ret_functions + library->rows[i].offset, &found, sizeof(found));
	}
	return 0;
}
