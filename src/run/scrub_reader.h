/*
 * How a stream is read for secrets: as it is, and as what it may be the encoding of. Private to run.
 *
 * Each reader follows the secrets through one reading of the stream. A decoder feeds it bytes, each with the place in the
 * stream it was made of, so that an occurrence is marked where it was written. What a reader may still need is held.
 */
#ifndef RUN_SCRUB_READER_H
#define RUN_SCRUB_READER_H

#include "run/scrub.h"

/* Follows one byte through the patterns that are begun or that it begins. */
void scrub_reader_follow(struct scrub *scrub, enum scrub_reading reading, unsigned char byte,
			 struct scrub_span span);

/* Feeds one byte of a reading, made of the stream's bytes of SPAN. Most begin nothing. */
static inline void scrub_reader_push(struct scrub *scrub, enum scrub_reading reading,
				     unsigned char byte, struct scrub_span span)
{
	if (scrub->readers[reading].active_count > 0 || scrub->words->is_first[byte])
		scrub_reader_follow(scrub, reading, byte, span);
}

/* Whether some pattern begins with these two. */
static inline bool scrub_words_has_pair(const struct scrub_words *words, unsigned char first,
					unsigned char second)
{
	return words->pairs[first * 32 + second / 8] >> second % 8 & 1;
}

/* What follows has nothing to do with what came before. */
void scrub_reader_reset(struct scrub *scrub, enum scrub_reading reading);

static inline bool scrub_reader_is_busy(const struct scrub *scrub, enum scrub_reading reading)
{
	return scrub->readers[reading].active_count > 0;
}

/* scrub_decode.c: reads one byte of the stream, at place AT, in every way. NEXT: the byte behind it, or -1: not known. */
void scrub_decode(struct scrub *scrub, unsigned char byte, int next, uint32_t at);

/* The first place of an escape, digit or sextet that is not complete and may begin a secret. False: there is none. */
bool scrub_decode_pending(const struct scrub *scrub, uint32_t *ret_at);

/* The stream has ended: what is incomplete is what it looks like. */
void scrub_decode_end(struct scrub *scrub);

/* Marks the bytes of a span, which end where the stream does now, as an occurrence of a pattern. */
void scrub_mark(struct scrub *scrub, uint32_t pattern, struct scrub_span span);

#endif
