/*
 * Keeping secrets out of a stream: each occurrence becomes "[secret NAME]".
 *
 * A secret is found as it is, and as base64 (both alphabets, any alignment, wrapped over lines), as hexadecimal digits (with
 * or without something between the bytes, wrapped, or in a dump with offsets and a column of text), percent-encoded, and
 * with the escapes of JSON, C and shells. Bytes that could be the beginning of one are held back until the next ones say
 * whether it is one, so that it is found however a program cuts it into writes; all others go on at once. Other codings,
 * and one inside another, are beyond this: it keeps accidents out of logs, it does not stop an exfiltration.
 */
#ifndef RUN_SCRUB_H
#define RUN_SCRUB_H

#include "base/secrets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a secret of several lines, those of so many bytes are looked for by themselves, too. */
#define SCRUB_LINE_MIN 8

/* One text to look for. */
struct scrub_pattern {
	char *bytes;
	uint32_t len;
	uint32_t *fallback; /* of each prefix: how much of its end is a shorter prefix */
	const char *name;   /* of the secret; borrowed */
};

/* Made once for all streams. */
struct scrub_words {
	struct scrub_pattern *items;
	size_t count;
	uint32_t *by_first;	 /* all of them, by their first bytes */
	uint32_t first_at[257];	 /* where in that list those of a byte begin */
	uint32_t ring_mask;	 /* one less than a power of two that the longest fits in */
	bool has_space;		 /* in some pattern: forms write it as '+' */
	bool is_first[256];	 /* the bytes that patterns begin with, */
	uint8_t pairs[256 * 32]; /* and a bit for each pair */
	/* Whether a first byte begins with these two, four, six bits. */
	bool begins_two[4], begins_four[16], begins_six[64];
};

void scrub_words_init(struct scrub_words *words, const struct secrets *secrets);
void scrub_words_done(struct scrub_words *words);

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
	uint32_t high; /* first half of a pair of UTF-16; 0: none */
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
	bool has_colon; /* behind the offset: text begins behind two blanks */
	unsigned offset_digits, line_bytes, line_len, blanks;
	uint32_t
		tail; /* a pattern was found in this line: the rest of it shows its end as text; pattern + 1 */
};

/* One stream. */
struct scrub {
	const struct scrub_words *words;
	struct scrub_reader readers[SCRUB_READINGS];
	unsigned busy_count; /* readers that are inside some pattern */
	struct scrub_percent percent;
	struct scrub_escape escape;
	struct scrub_digits digits[2];
	unsigned row_len, row_gap; /* digits since the last gap, and how long that was */
	struct scrub_dump dump;
	struct {
		uint32_t from; /* of the last sextet */
		uint8_t sextet;
		bool has_sextet;
		unsigned index, gap;
	} base64;
	uint32_t released;	/* place of the first held byte */
	struct scrub_span last; /* that was marked */
	struct str held;
	/* For each held byte: 0, or the pattern it belongs to (from 1), doubled, and 1 where an occurrence begins. */
	uint32_t *marks;
	size_t mark_room;
	uint32_t shown; /* the pattern that the last byte given out belonged to; 0: none */
};

void scrub_init(struct scrub *scrub, const struct scrub_words *words);
void scrub_done(struct scrub *scrub);

/* Adds to OUT what is known not to be a secret of the bytes so far. */
void scrub_add(struct scrub *scrub, const char *bytes, size_t len, struct str *out);

/* The stream has ended: what was held back was no secret. */
void scrub_end(struct scrub *scrub, struct str *out);

/*
 * A short text that is on the heap, or NULL, in the place of which another may come: names are told in lower case and cut
 * off at some length, so case does not count, and at the end of the text the beginning of a secret will do.
 */
void scrub_text(const struct scrub_words *words, char **text);

#endif
