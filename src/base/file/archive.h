/* SPDX-License-Identifier: Apache-2.0 */
/* Archives read entry by entry. The one door to libarchive, which is loaded when there is something to unpack. */
#ifndef BASE_ARCHIVE_H
#define BASE_ARCHIVE_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum archive_form {
	ARCHIVE_ZIP,
	ARCHIVE_TAR, /* plain, or compressed by gzip, xz or zstd */
};

/* Texts live until the next entry. */
struct archive_item {
	const char *path; /* NULL: none that could be read */
	const char *link; /* of a symbolic or hard link */
	char type;	  /* f d l, h: hard link, c b: device, p: fifo or socket */
	mode_t mode;
	uint64_t size;
	int64_t uid, gid;
	int64_t mtime_s;
	long mtime_ns;
	bool has_attributes; /* extended ones, capabilities among them */
};

struct archive_in;

/* Reads FD, from where it stands, until archive_in_close. Everything that has to be loaded is loaded here. */
int archive_in_open(int fd, enum archive_form form, struct archive_in **ret_in, struct error *err);
void archive_in_close(struct archive_in **in);

/* 1 and the next entry, 0 behind the last one, -1 with an error. */
int archive_in_next(struct archive_in *in, struct archive_item *ret_item, struct error *err);

/* Bounds on what comes out of an archive. */
struct archive_bounds {
	uint64_t file_bytes; /* of one file */
	uint64_t all_bytes;  /* of all */
	uint64_t ratio; /* how many times longer than what was read it may get; 0: not bounded */
};

/* Writes the entry's content to TO_FD, an empty file; what is a hole in the archive stays one. */
int archive_in_save(struct archive_in *in, int to_fd, const struct archive_bounds *bounds,
		    struct error *err);

/* The entry's content, up to SIZE bytes; how many, or -1 with an error. */
ssize_t archive_in_read(struct archive_in *in, void *buffer, size_t size, struct error *err);

#endif
