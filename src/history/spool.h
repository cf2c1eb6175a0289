/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: an append-only file of checksummed records, two a run (START before exec, END after).
 *
 * A record is one write(2) in O_APPEND mode, so records of parallel runs never mix. A torn tail (power cut)
 * fails its checksum; the reader skips to the next record's mark. Nothing else is kept on the hot path.
 */
#ifndef HISTORY_SPOOL_H
#define HISTORY_SPOOL_H

#include "base/core/error.h"

#include <stddef.h>
#include <stdint.h>

/* EVENT: something that is no run, such as a decision of `guard`; its body names it in "event". */
enum spool_type { SPOOL_START = 1, SPOOL_END = 2, SPOOL_EVENT = 3 };

#define SPOOL_RECORD_MAX (256u << 10)

/*
 * Opens STATE_DIR/spool for appending, making the directory (0700) when it is missing. As long as the descriptor is open
 * the file is not removed by a fold.
 */
int spool_open(const char *state_dir, int *ret_fd, struct error *err);

/* Appends one record; BODY is a JSON object. */
int spool_append(int fd, enum spool_type type, const char *body, size_t len, struct error *err);

struct spool_record {
	enum spool_type type;
	const char *body; /* borrowed from the buffer, not NUL-terminated */
	size_t len;
	uint64_t offset; /* of the record in the buffer */
};

/*
 * Finds the next whole record at or after *OFFSET and moves *OFFSET behind it. Returns 1 when there is one, 0 at
 * the end. Damaged stretches are skipped and their bytes added to *ret_skipped. An unfinished record at the very
 * end is left for later: *OFFSET stays before it.
 */
int spool_next(const char *buffer, size_t len, uint64_t *offset, struct spool_record *ret_record,
	       uint64_t *ret_skipped);

#endif
