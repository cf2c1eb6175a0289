/* SPDX-License-Identifier: Apache-2.0 */
/* The kept output of a command, stream by stream: from any byte on, without reading what lies before. */
#ifndef BACKGROUND_OUTPUT_H
#define BACKGROUND_OUTPUT_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Of each stream, in one piece. */
#define OUTPUT_PIECE ((size_t)1 << 20)

struct output_piece {
	uint64_t offset; /* where it begins; then, where the next one does */
	struct str bytes;
	size_t held;   /* bytes behind it that are the beginning of a character only */
	bool has_more; /* there is more than fits into this piece */
};

struct output {
	struct output_piece out, err;
};

void output_done(struct output *output);

/*
 * Reads what STATE_DIR keeps of run ID from the offsets on, and moves them. Nothing kept (yet) is no error. A character
 * that is cut in two at the end of a piece is left to the next one, unless IS_LAST: then there is none.
 */
int output_read(const char *state_dir, const char *id, bool is_last, struct output *output,
		struct error *err);

/* The same of a file that is open already; exposed for tests and fuzzing. */
int output_read_log(int fd, bool is_last, struct output *output, struct error *err);

#endif
