/* SPDX-License-Identifier: Apache-2.0 */
/* Where the decoders of a stream are, and what the readers behind them have seen (scrub.h). */
#ifndef RUN_SCRUB_STATE_H
#define RUN_SCRUB_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in a stream is counted from its beginning, modulo 2^32: what is held is far shorter. */
struct scrub_span {
	uint32_t from, to;
};

enum scrub_reading {
	SCRUB_PLAIN,
	SCRUB_PERCENT, /* %41 */
	SCRUB_FORM,    /* the same, and '+' is a space */
	SCRUB_ESCAPED, /* \u0041 \x41 \101 \n */
	SCRUB_HEX,     /* pairs of digits, from the first of a row */
	SCRUB_HEX_ODD, /* from the second */
	SCRUB_DUMP,    /* of lines with an offset in front, and perhaps text behind */
	SCRUB_BASE64,  /* groups of four that begin at each of four places */
	SCRUB_READINGS = SCRUB_BASE64 + 4,
};

/* Follows the patterns through one reading. */
struct scrub_reader {
	uint32_t *states; /* of each pattern: how much of it the reading ends in */
	uint32_t *active; /* those of which it ends in something */
	size_t active_count;
	uint32_t longest; /* of their states */
	uint32_t *starts; /* a ring: where in the stream each of the last bytes was begun */
	uint32_t count;	  /* of bytes in it, ever */
};

/* Of %41: how much has come, and where it began. */
struct scrub_percent {
	uint32_t from;
	unsigned have;
	char digit;
};

/* Of a backslash and what follows. */
struct scrub_escape {
	uint32_t from;
	unsigned have;
	char text[12];
	uint32_t high; /* first half of a pair of UTF-16, whose second may come next; 0: none */
	struct scrub_span high_span;
};

/* A row of digits; half of a byte may have come. */
struct scrub_digits {
	uint32_t from;
	bool has_half;
	uint8_t half;
};

struct scrub_dump {
	struct scrub_digits digits;
	enum { DUMP_OFFSET, DUMP_BYTES, DUMP_TEXT } part;
	bool has_colon;	      /* behind the offset: text begins behind two blanks */
	bool is_after_return; /* the line before ended with \r, to which a \n may belong */
	unsigned offset_digits, line_bytes, line_len, blanks;
	/* A pattern was found in this line: the rest of it shows its end as text; pattern + 1. */
	uint32_t tail;
};

#endif
