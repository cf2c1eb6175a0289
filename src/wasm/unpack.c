/* The one door to libarchive. */
#include "wasm/unpack.h"

#include "base/own.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 65536
/* A package has some dozen files. */
#define ENTRIES_MAX 10000

static void archive_release(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}

static int write_entry(struct archive *archive, struct archive_entry *entry, uint64_t bytes,
		       int to_fd, struct error *err)
{
	if (archive_entry_filetype(entry) != AE_IFREG ||
	    (uint64_t)archive_entry_size(entry) != bytes)
		return error_set(err, ERROR_INPUT, "the package is not the one that was expected");
	if (archive_read_data_into_fd(archive, to_fd) != ARCHIVE_OK)
		return error_set(err, ERROR_HOST, "cannot unpack: %.200s",
				 archive_error_string(archive));
	return 0;
}

int wasm_unpack(int package_fd, const char *member, uint64_t bytes, int to_fd, struct error *err)
{
	owned(archive_release) struct archive *archive = archive_read_new();
	struct archive_entry *entry;

	if (!archive || lseek(package_fd, 0, SEEK_SET) < 0 ||
	    archive_read_support_format_zip(archive) != ARCHIVE_OK ||
	    archive_read_open_fd(archive, package_fd, BLOCK_BYTES) != ARCHIVE_OK)
		return error_set(err, ERROR_INPUT, "the package cannot be read");
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		const char *name;

		if (archive_read_next_header(archive, &entry) != ARCHIVE_OK)
			break;
		name = archive_entry_pathname(entry);
		if (name && strcmp(name, member) == 0)
			return write_entry(archive, entry, bytes, to_fd, err);
	}
	return error_set(err, ERROR_INPUT, "the package has no %s", member);
}
