/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping secrets out of a stream: each occurrence becomes "[secret NAME]".
 *
 * A secret is found as it is, and as base64 (both alphabets, any alignment, wrapped over lines), as hexadecimal digits (with
 * or without something between the bytes, wrapped, or in a dump with offsets and a column of text), percent-encoded, and
 * with the escapes of JSON, C and shells. Bytes that could be the beginning of one are held back until the next ones show
 * whether it is one, so that it is found however a program cuts it into writes; all others go on at once. Where base64,
 * digits or a dump break off at the end of a line with only SCRUB_LET_GO bytes of a secret decoded, these are let go: a
 * line would wait for the next one too often. Other codings, and one inside another, are beyond this: it keeps accidents
 * out of logs, it does not stop an exfiltration.
 */
#ifndef RUN_SCRUB_H
#define RUN_SCRUB_H

#include "base/hash/secrets.h"
#include "run/scrub_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a secret of several lines, those of so many bytes are looked for by themselves, too. */
#define SCRUB_LINE_MIN 8
/* Texts of a JSON file that may be tokens: with letters of both cases and digits, and others. */
#define SCRUB_TOKEN_MIN 20
#define SCRUB_TOKEN_LONG 32

/* So many decoded bytes are not held over the end of a line. */
#define SCRUB_LET_GO 2

/*
 * The most that one stream holds back, whatever it carries: sixteen bytes for each one of the longest pattern (a dump with
 * one byte in each line), and a page. An encoding that is spread more widely is let go.
 */
#define SCRUB_HOLD_MAX(longest) (16 * (size_t)(longest) + 4096)

/* One text to look for. */
struct scrub_pattern {
	const char *bytes; /* borrowed from the secret, or own */
	char *own;	   /* another form of the secret, to be freed; or NULL */
	uint32_t len;
	uint32_t *fallback; /* of each prefix: how much of its end is a shorter prefix */
	const char *name;   /* of the secret; borrowed */
};

struct scrub_beginnings;

/* Made once for all streams. */
struct scrub_words {
	struct scrub_pattern *items;
	size_t count;
	uint32_t *by_first;	/* all of them, by their first bytes */
	uint32_t first_at[257]; /* where in that list those of a byte begin */
	uint32_t ring_mask;	/* one less than a power of two that the longest fits in */
	uint32_t longest;	/* length of the longest */
	bool keeps_length;	/* of the stream: asterisks instead of names */
	bool has_space;		/* in some pattern: forms write it as '+' */
	bool is_first[256];	/* the bytes that patterns begin with */
	/* Whether a first byte begins with these two, four, six bits. */
	bool begins_two[4], begins_four[16], begins_six[64];
	struct scrub_beginnings *beginnings; /* scrub_scan.c */
};

void scrub_words_init(struct scrub_words *words, const struct secrets *secrets);
void scrub_words_done(struct scrub_words *words);

/* One stream. */
struct scrub {
	const struct scrub_words *words;
	struct scrub_reader readers[SCRUB_READINGS];
	unsigned busy_count; /* readers that are inside some pattern */
	struct scrub_percent percent;
	struct scrub_escape escape;
	struct scrub_digits digits[2];
	unsigned row_len; /* digits since the last gap */
	unsigned row_gap; /* bytes since the last complete pair of digits */
	bool has_row_end; /* among these is the end of a line */
	struct scrub_dump dump;
	struct {
		uint32_t from; /* of the last sextet */
		uint8_t sextet;
		bool has_sextet;
		unsigned index, gap;
	} base64;
	unsigned char before;	/* the last byte of the stream */
	uint32_t released;	/* place of the first held byte */
	struct scrub_span last; /* that was marked */
	struct str held;
	/* For each held byte: 0, or the pattern it belongs to (from 1), doubled, and 1 where an occurrence begins. */
	uint32_t *marks;
	size_t mark_room;
	uint32_t found; /* the last pattern that was found, from 1; 0: none */
	uint32_t shown; /* the pattern that the last byte given out belonged to; 0: none */
};

void scrub_init(struct scrub *scrub, const struct scrub_words *words);
void scrub_done(struct scrub *scrub);

/* Adds to OUT what is known not to be a secret of the bytes so far. */
void scrub_add(struct scrub *scrub, const char *bytes, size_t len, struct str *out);

/* The stream has ended: what was held back was no secret. */
void scrub_end(struct scrub *scrub, struct str *out);

/*
 * A short text that is on the heap, or NULL, in the place of which another may come: names are reported in lower case and
 * cut off at some length, so case does not count, and at the end of the text the beginning of a secret will do.
 */
void scrub_text(const struct scrub_words *words, char **text);

#endif
