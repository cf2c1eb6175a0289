/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent reports to the server about the end of a command or of code, for the record. */
#ifndef ENVD_NOTE_H
#define ENVD_NOTE_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Of each stream, the last bytes are kept. */
#define NOTE_TAIL_MAX ((size_t)16 << 10)

enum note_kind {
	NOTE_ENDED = 'e',
	NOTE_LATE = 'l',   /* by its time limit */
	NOTE_KILLED = 'k', /* its client left, or what ran it has ended */
	NOTE_FAILED = 'f', /* it never ran; the tail of stderr says why */
};

struct note {
	enum note_kind kind;
	int status;	    /* of wait */
	struct str tail[2]; /* of stdout and stderr */
	uint64_t bytes[2];  /* all that was written there */
};

void note_done(struct note *note);
/* Adds output, and forgets what is beyond the tail. */
void note_add(struct note *note, unsigned which, const char *bytes, size_t len);

/* As the payload of LINK_RUN, and back: false for what no honest agent sends. */
void note_write(const struct note *note, struct str *out);
bool note_read(const char *bytes, size_t len, struct note *ret_note);

#endif
