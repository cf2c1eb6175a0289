/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to libarchive, which is loaded when there is something to unpack, and never linked: it brings a dozen
 * libraries along, and a program that has them is slower to start and to fork, whatever it does.
 */
#include "base/file/archive.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/archive_functions.h"
#include "base/file/library.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libarchive.so.13"
#define BLOCK_BYTES 65536
/* Up to here every ratio is accepted: a file of zeros is no attack. */
#define RATIO_FREE_BYTES (UINT64_C(256) << 20)

struct archive_in {
	/* Each function under its own name, as the library's header declares it. */
#define MEMBER(name) __typeof__(&name) name;
	ARCHIVE_FUNCTIONS(MEMBER)
#undef MEMBER
	struct archive *archive;
	uint64_t written;
	locale_t utf8, before;
};

static int load(struct archive_in *in, struct error *err)
{
	static const struct library_row rows[] = {
#define ROW(name) { #name, offsetof(struct archive_in, name) },
		ARCHIVE_FUNCTIONS(ROW)
#undef ROW
	};

	return library_load(&(const struct library){ LIBRARY, "libarchive13", rows,
						     sizeof(rows) / sizeof(rows[0]) },
			    in, err);
}

static int fail(const struct archive_in *in, struct error *err)
{
	const char *why = in->archive_error_string(in->archive);

	return error_set(err, ERROR_INPUT, "the archive cannot be read: %.200s",
			 why ? why : "unknown reason");
}

static bool support(const struct archive_in *in, enum archive_form form)
{
	if (form == ARCHIVE_ZIP)
		return in->archive_read_support_format_zip(in->archive) == ARCHIVE_OK;
	/* Where the library lacks a compression it would start a program: less than OK is as good as none. */
	return in->archive_read_support_format_tar(in->archive) == ARCHIVE_OK &&
	       in->archive_read_support_filter_gzip(in->archive) == ARCHIVE_OK &&
	       in->archive_read_support_filter_xz(in->archive) == ARCHIVE_OK &&
	       in->archive_read_support_filter_zstd(in->archive) == ARCHIVE_OK;
}

int archive_in_open(int fd, enum archive_form form, struct archive_in **ret_in, struct error *err)
{
	struct archive_in *in = xcalloc(1, sizeof(*in));

	/* In the C locale names with other letters than ASCII's could not be had. Of this thread alone, until it is closed. */
	in->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	in->before = in->utf8 ? uselocale(in->utf8) : (locale_t)0;
	*ret_in = in;
	if (load(in, err) < 0)
		goto failed;
	in->archive = in->archive_read_new();
	if (!in->archive || !support(in, form)) {
		error_set(err, ERROR_HOST, LIBRARY " here cannot read such archives");
		goto failed;
	}
	if (in->archive_read_open_fd(in->archive, fd, BLOCK_BYTES) != ARCHIVE_OK) {
		fail(in, err);
		goto failed;
	}
	return 0;
failed:
	archive_in_close(ret_in);
	return -1;
}

void archive_in_close(struct archive_in **in)
{
	if (*in && (*in)->archive)
		(*in)->archive_read_free((*in)->archive);
	if (*in && (*in)->utf8) {
		(void)uselocale((*in)->before);
		freelocale((*in)->utf8);
	}
	free(*in);
	*in = NULL;
}

static char type_of(const struct archive_in *in, struct archive_entry *entry)
{
	if (in->archive_entry_hardlink(entry))
		return 'h';
	switch (in->archive_entry_filetype(entry)) {
	case AE_IFREG:
		return 'f';
	case AE_IFDIR:
		return 'd';
	case AE_IFLNK:
		return 'l';
	case AE_IFCHR:
		return 'c';
	case AE_IFBLK:
		return 'b';
	default:
		return 'p';
	}
}

int archive_in_next(struct archive_in *in, struct archive_item *ret_item, struct error *err)
{
	struct archive_entry *entry;
	int status = in->archive_read_next_header(in->archive, &entry);

	if (status == ARCHIVE_EOF)
		return 0;
	if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
		return fail(in, err);
	const char *hard = in->archive_entry_hardlink(entry);
	int64_t size = in->archive_entry_size(entry);

	*ret_item = (struct archive_item){
		.path = in->archive_entry_pathname(entry),
		.link = hard ? hard : in->archive_entry_symlink(entry),
		.type = type_of(in, entry),
		.mode = in->archive_entry_perm(entry),
		.size = size > 0 ? (uint64_t)size : 0,
		.uid = in->archive_entry_uid(entry),
		.gid = in->archive_entry_gid(entry),
		.mtime_s = in->archive_entry_mtime(entry),
		.mtime_ns = in->archive_entry_mtime_nsec(entry),
		.has_attributes = in->archive_entry_xattr_count(entry) > 0,
	};
	return 1;
}

static int check_bounds(const struct archive_in *in, uint64_t end,
			const struct archive_bounds *bounds, struct error *err)
{
	uint64_t taken = (uint64_t)in->archive_filter_bytes(in->archive, -1);

	if (end > bounds->file_bytes || in->written > bounds->all_bytes)
		return error_set(
			err, ERROR_INPUT,
			"more than %llu MiB in %s: an archive may not hold that much",
			(unsigned long long)((end > bounds->file_bytes ? bounds->file_bytes
								       : bounds->all_bytes) >>
					     20),
			end > bounds->file_bytes ? "one file" : "all");
	if (bounds->ratio && in->written > RATIO_FREE_BYTES && in->written / bounds->ratio > taken)
		return error_set(err, ERROR_INPUT,
				 "more than %llu times as long as the archive: a bomb",
				 (unsigned long long)bounds->ratio);
	return 0;
}

int archive_in_save(struct archive_in *in, int to_fd, const struct archive_bounds *bounds,
		    struct error *err)
{
	const void *bytes;
	la_int64_t offset = 0;
	size_t len = 0;
	int status;

	while ((status = in->archive_read_data_block(in->archive, &bytes, &len, &offset)) ==
	       ARCHIVE_OK) {
		in->written += len;
		if (offset < 0 || check_bounds(in, (uint64_t)offset + len, bounds, err) < 0)
			return offset < 0 ? fail(in, err) : -1;
		for (size_t done = 0; done < len;) {
			ssize_t put = pwrite(to_fd, (const char *)bytes + done, len - done,
					     offset + (off_t)done);

			if (put < 0 && errno != EINTR)
				return error_errno(err, ERROR_HOST, "cannot write");
			done += put > 0 ? (size_t)put : 0;
		}
	}
	if (status != ARCHIVE_EOF)
		return fail(in, err);
	/* A hole at the end. */
	if (offset <= 0 || len > 0)
		return 0;
	if (check_bounds(in, (uint64_t)offset, bounds, err) < 0)
		return -1;
	return ftruncate(to_fd, offset) < 0 ? error_errno(err, ERROR_HOST, "cannot write") : 0;
}

ssize_t archive_in_read(struct archive_in *in, void *buffer, size_t size, struct error *err)
{
	la_ssize_t got = in->archive_read_data(in->archive, buffer, size);

	return got < 0 ? fail(in, err) : (ssize_t)got;
}
