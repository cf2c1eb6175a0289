/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base identities as they lie on disk: one line per path, in `touched` of a layer, `touched` and `promoted` of a sandbox.
 *
 *   aisbx-origins 1
 *   at NS                       when it was last written: what was there before was looked at
 *   path QUALITY EXISTS DEV INO BTIME SIZE MTIME CTIME MODE UID GID SHA256 XATTRS PROMOTION LINK FROM PATH
 *
 * A path of ORIGIN_COPIED stands for no path, but for an inode of the host's that was copied up: INO and BTIME (0: unknown) are
 * its own, CTIME is the birth of the copy.
 *
 * ORIGIN_HIDDEN before a path: a directory of the host's that was hidden when it was written: removed inside, or another stood
 * in its place. What was in it then has a record of its own.
 *
 * Bytes that would break a line are written as %XX, what is absent as "-". The file only grows; a last line without its
 * end was cut short by a crash and does not count.
 */
#ifndef WORKSPACE_ORIGIN_RECORD_H
#define WORKSPACE_ORIGIN_RECORD_H

#include "workspace/base/origin.h"

#define ORIGIN_COPIED "//copied"
#define ORIGIN_HIDDEN "//hidden"

struct origin_record {
	char *path; /* absolute */
	char promotion
		[LAYER_ID_SIZE]; /* the one that made the host so; "" for what a sandbox found */
	struct origin origin;
};

struct origin_records {
	struct origin_record *items;
	size_t count;
	uint64_t at_ns; /* 0: never */
};

void origin_record_done(struct origin_record *record);
void origin_records_done(struct origin_records *records);

void origin_records_begin(struct str *text);
void origin_records_put_time(struct str *text, uint64_t at_ns);
void origin_records_put(struct str *text, const struct origin_record *record);

/* ERROR_INPUT for lines that were never written by the above. */
int origin_records_parse(const char *bytes, size_t len, struct origin_records *ret_records,
			 struct error *err);

/* File NAME below DIR_FD; one that is not there holds nothing. */
int origin_records_read(int dir_fd, const char *name, struct origin_records *ret_records,
			struct error *err);

/* Adds TEXT (lines without the first) to NAME below DIR_FD, made on first use. */
int origin_records_append(int dir_fd, const char *name, const struct str *text, struct error *err);

/* Sorts by path, of one path the first written first. */
void origin_records_sort(struct origin_records *records);
/* The first (LAST: the last) of PATH, after sorting; NULL. */
const struct origin_record *origin_records_find(const struct origin_records *records,
						const char *path, bool last);

#endif
