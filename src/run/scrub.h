/*
 * Keeping secrets out of a stream: each occurrence becomes "[secret NAME]".
 *
 * Bytes that could be the beginning of a secret are held back until the next ones say whether it is one, so that it is
 * found however a program cuts it into writes; all others go on at once. What a program does to a secret before it prints
 * it (reversing, encoding) is beyond this: it keeps accidents out of logs, it does not stop an exfiltration.
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
	uint32_t *by_first;	/* all of them, by their first bytes */
	uint32_t first_at[257]; /* where in that list those of a byte begin */
};

void scrub_words_init(struct scrub_words *words, const struct secrets *secrets);
void scrub_words_done(struct scrub_words *words);

/* One stream. */
struct scrub {
	const struct scrub_words *words;
	uint32_t *states; /* of each pattern: how much of it the stream ends in */
	uint32_t *active; /* those of which it ends in something */
	size_t active_count;
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
