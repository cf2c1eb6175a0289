/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kept output of a run: one file, made at the first byte, up to a cap.
 *
 * Frames of "TAG SECONDS LENGTH\n", the bytes, and a newline, so that streams and times can be separated later. A tag is o
 * or e.
 */
#ifndef RUN_LOG_H
#define RUN_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run_log {
	int dir_fd;	  /* of the logs; -1: nothing is kept */
	const char *name; /* borrowed */
	int fd;		  /* -1 until the first byte */
	off_t size;	  /* of the file: whole frames */
	uint64_t kept, cap;
	uint64_t kept_out; /* of `kept`, from stdout; the rest is stderr's */
	uint64_t began_ns;
};

/* Opens nothing yet. STATE_DIR NULL keeps nothing. */
void run_log_init(struct run_log *log, const char *state_dir, const char *run_id, uint64_t cap);
void run_log_add(struct run_log *log, char tag, const char *bytes, size_t len);
void run_log_done(struct run_log *log);

#endif
