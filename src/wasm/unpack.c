/* SPDX-License-Identifier: Apache-2.0 */
/* One file out of a package, by its exact name. */
#include "wasm/unpack.h"

#include "base/core/own.h"
#include "base/file/archive.h"

#include <string.h>
#include <unistd.h>

/* A package has some dozen files. */
#define ENTRIES_MAX 10000

/* Opens the package and goes to MEMBER; the caller closes it in any case. */
static int find_entry(int package_fd, const char *member, struct archive_in **ret_in,
		      struct archive_item *ret_item, struct error *err)
{
	if (lseek(package_fd, 0, SEEK_SET) < 0)
		return error_errno(err, ERROR_INPUT, "the package cannot be read");
	if (archive_in_open(package_fd, ARCHIVE_ZIP, ret_in, err) < 0)
		return -1;
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		struct error ignored;

		if (archive_in_next(*ret_in, ret_item, &ignored) <= 0)
			break;
		if (ret_item->path && strcmp(ret_item->path, member) == 0)
			return 0;
	}
	return error_set(err, ERROR_INPUT, "the package has no %s", member);
}

int wasm_unpack(int package_fd, const char *member, uint64_t bytes, int to_fd, struct error *err)
{
	const struct archive_bounds bounds = { .file_bytes = bytes, .all_bytes = bytes };
	owned(archive_in_close) struct archive_in *in = NULL;
	struct archive_item item;

	if (find_entry(package_fd, member, &in, &item, err) < 0)
		return -1;
	if (item.type != 'f' || item.size != bytes)
		return error_set(err, ERROR_INPUT, "the package is not the one that was expected");
	return archive_in_save(in, to_fd, &bounds, err);
}

int wasm_unpack_text(int package_fd, const char *member, size_t limit, struct str *text,
		     struct error *err)
{
	owned(archive_in_close) struct archive_in *in = NULL;
	owned(free_ptr) char *buffer = xmalloc(limit + 1);
	struct archive_item item;
	ssize_t got;

	if (find_entry(package_fd, member, &in, &item, err) < 0)
		return -1;
	got = archive_in_read(in, buffer, limit + 1, err);
	if (got < 0 || (size_t)got > limit)
		return error_set(err, ERROR_INPUT, "%s cannot be read, or is too large", member);
	str_add_bytes(text, buffer, (size_t)got);
	return 0;
}
