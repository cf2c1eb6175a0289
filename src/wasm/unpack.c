/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to libarchive, which is loaded when there is something to unpack, and never linked: it brings a dozen
 * libraries along, and a program that has them is slower to start and to fork, whatever it does.
 */
#include "wasm/unpack.h"

#include "base/core/own.h"

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libarchive.so.13"
#define BLOCK_BYTES 65536
/* A package has some dozen files. */
#define ENTRIES_MAX 10000

#define FUNCTIONS(F)                       \
	F(archive_read_new)                \
	F(archive_read_free)               \
	F(archive_read_support_format_zip) \
	F(archive_read_open_fd)            \
	F(archive_read_next_header)        \
	F(archive_read_data_into_fd)       \
	F(archive_read_data)               \
	F(archive_error_string)            \
	F(archive_entry_filetype)          \
	F(archive_entry_pathname)          \
	F(archive_entry_size)

/* Each function under its own name, as the library's header declares it. */
struct library {
#define MEMBER(name) __typeof__(&name) name;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

struct package {
	const struct library *library;
	struct archive *archive;
};

static int load(struct library *ret_library, struct error *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} rows[] = {
#define ROW(name) { #name, offsetof(struct library, name) },
		FUNCTIONS(ROW)
#undef ROW
	};
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *found = handle ? dlsym(handle, rows[i].name) : NULL;

		if (!found)
			return error_set(err, ERROR_HOST,
					 "unpacking needs " LIBRARY
					 " (Debian: libarchive13): %.200s",
					 dlerror());
		memcpy((char *)ret_library + rows[i].offset, &found, sizeof(found));
	}
	return 0;
}

static void package_close(struct package *package)
{
	if (package->archive)
		package->library->archive_read_free(package->archive);
}

static int write_entry(const struct package *package, struct archive_entry *entry, uint64_t bytes,
		       int to_fd, struct error *err)
{
	const struct library *library = package->library;

	if (library->archive_entry_filetype(entry) != AE_IFREG ||
	    (uint64_t)library->archive_entry_size(entry) != bytes)
		return error_set(err, ERROR_INPUT, "the package is not the one that was expected");
	if (library->archive_read_data_into_fd(package->archive, to_fd) != ARCHIVE_OK)
		return error_set(err, ERROR_HOST, "cannot unpack: %.200s",
				 library->archive_error_string(package->archive));
	return 0;
}

/* Opens the package and goes to MEMBER; the caller closes it in any case. */
static int find_entry(struct package *package, int package_fd, const char *member,
		      struct archive_entry **ret_entry, struct error *err)
{
	const struct library *library = package->library;

	package->archive = library->archive_read_new();
	if (!package->archive || lseek(package_fd, 0, SEEK_SET) < 0 ||
	    library->archive_read_support_format_zip(package->archive) != ARCHIVE_OK ||
	    library->archive_read_open_fd(package->archive, package_fd, BLOCK_BYTES) != ARCHIVE_OK)
		return error_set(err, ERROR_INPUT, "the package cannot be read");
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		const char *name;

		if (library->archive_read_next_header(package->archive, ret_entry) != ARCHIVE_OK)
			break;
		name = library->archive_entry_pathname(*ret_entry);
		if (name && strcmp(name, member) == 0)
			return 0;
	}
	return error_set(err, ERROR_INPUT, "the package has no %s", member);
}

int wasm_unpack(int package_fd, const char *member, uint64_t bytes, int to_fd, struct error *err)
{
	struct library library;
	owned(package_close) struct package package = { &library, NULL };
	struct archive_entry *entry;

	if (load(&library, err) < 0 || find_entry(&package, package_fd, member, &entry, err) < 0)
		return -1;
	return write_entry(&package, entry, bytes, to_fd, err);
}

int wasm_unpack_text(int package_fd, const char *member, size_t limit, struct str *text,
		     struct error *err)
{
	struct library library;
	owned(package_close) struct package package = { &library, NULL };
	owned(free_ptr) char *buffer = xmalloc(limit + 1);
	struct archive_entry *entry;
	la_ssize_t got;

	if (load(&library, err) < 0 || find_entry(&package, package_fd, member, &entry, err) < 0)
		return -1;
	got = library.archive_read_data(package.archive, buffer, limit + 1);
	if (got < 0 || (size_t)got > limit)
		return error_set(err, ERROR_INPUT, "%s cannot be read, or is too large", member);
	str_add_bytes(text, buffer, (size_t)got);
	return 0;
}
