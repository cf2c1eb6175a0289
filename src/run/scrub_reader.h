/* SPDX-License-Identifier: Apache-2.0 */
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

/* What follows has nothing to do with what came before. */
void scrub_reader_reset(struct scrub *scrub, enum scrub_reading reading);

/* If no more than SCRUB_LET_GO bytes of any pattern have come, nothing in front of PLACE is needed for them any more. */
void scrub_reader_let_go(struct scrub *scrub, enum scrub_reading reading, uint32_t place);

static inline bool scrub_reader_is_busy(const struct scrub *scrub, enum scrub_reading reading)
{
	return scrub->readers[reading].active_count > 0;
}

/* Values of digits; SCRUB_NOT_A_DIGIT for other bytes. */
#define SCRUB_NOT_A_DIGIT 0xff
extern const uint8_t scrub_hex_values[256], scrub_base64_values[256];

static inline uint8_t scrub_hex_value(unsigned char c)
{
	return (uint8_t)(scrub_hex_values[c] - 1);
}

static inline uint8_t scrub_base64_value(unsigned char c)
{
	return (uint8_t)(scrub_base64_values[c] - 1);
}

static inline bool scrub_is_blank(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline bool scrub_is_line_end(unsigned char c)
{
	return c == '\r' || c == '\n';
}

/* Blanks inside base64, and what stands between pairs of digits. */
#define SCRUB_GAP_MAX 64

/* scrub_decode.c: reads one byte of the stream, at place AT, in every way. */
void scrub_decode(struct scrub *scrub, unsigned char byte, uint32_t at);

/*
 * Brings the decoders to where decoding these bytes, which end in front of place END, would have brought them.
 * scrub_scan() must have found that they begin nothing.
 */
void scrub_decode_skip(struct scrub *scrub, const char *bytes, size_t len, uint32_t end);

/* The first place of an escape, digit or sextet that is not complete and may begin a secret. False: there is none. */
bool scrub_decode_pending(const struct scrub *scrub, uint32_t *ret_at);

/* scrub_escape.c: two of these ways. */
void scrub_decode_percent(struct scrub *scrub, unsigned char byte, uint32_t at);
void scrub_decode_escape(struct scrub *scrub, unsigned char byte, uint32_t at);

/* The stream has ended: what is incomplete is what it looks like. */
void scrub_decode_end(struct scrub *scrub);

/* Whether nothing is under way that the next byte could go on with, but for what scrub_scan() looks at itself. */
bool scrub_decode_is_idle(const struct scrub *scrub);

/* scrub_scan.c: notes how the patterns may begin. The caller frees it. */
struct scrub_beginnings *scrub_beginnings_new(const struct scrub_words *words);

/* Of an idle stream: how many bytes need not be decoded, because no pattern begins there in any coding. Never the last. */
size_t scrub_scan(const struct scrub *scrub, const char *bytes, size_t len);

/* Marks the bytes of a span, which end where the stream does now, as an occurrence of a pattern. */
void scrub_mark(struct scrub *scrub, uint32_t pattern, struct scrub_span span);

#endif
