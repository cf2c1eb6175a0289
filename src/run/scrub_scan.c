/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passing over what begins no secret: two or three bytes of a stream are enough to know that no pattern begins with the first
 * of them in any coding. Most of what programs print is never decoded, which makes it several times faster.
 *
 * '%', '\' and a line that begins like a dump's are always decoded: what follows them depends on more than that.
 */
#include "run/scrub_reader.h"

#include "base/core/own.h"

/* Patterns with one first byte that are compared one by one; where there are more, what they begin with is decoded. */
#define COMPARED_MAX 16

struct scrub_beginnings {
	/* A bit for each two bytes of a stream that may begin a pattern in some coding. */
	uint8_t pairs[256 * 32];
	/* A bit for the third of three digits of base64, by the first two. */
	uint64_t digits[64 * 64];
};

static void note_pair(struct scrub_beginnings *beginnings, unsigned char first,
		      unsigned char second)
{
	beginnings->pairs[first * 32 + second / 8] |= (uint8_t)(1u << second % 8);
}

static bool is_pair(const struct scrub_words *words, unsigned char first, unsigned char second)
{
	return words->beginnings->pairs[first * 32 + second / 8] >> second % 8 & 1;
}

/* The second may be escaped. */
static void note_plain(struct scrub_beginnings *beginnings, unsigned char first,
		       unsigned char second)
{
	note_pair(beginnings, first, second);
	note_pair(beginnings, first, '%');
	note_pair(beginnings, first, '\\');
	if (second == ' ')
		note_pair(beginnings, first, '+');
}

/* The first bytes as digits of base64, behind 0, 2 or 4 bits of what stands in front. */
static void note_base64(struct scrub_beginnings *beginnings, const char *bytes)
{
	unsigned bits = (unsigned)(unsigned char)bytes[0] << 16 |
			(unsigned)(unsigned char)bytes[1] << 8 | (unsigned char)bytes[2];

	for (unsigned before = 0; before <= 4; before += 2) {
		unsigned all =
			bits >>
			(6 + before); /* of the last digits, and of the first what is known */

		for (unsigned front = 0; front < 1u << before; front++) {
			unsigned three = front << (18 - before) | all;

			beginnings->digits[three >> 6] |= 1ull << (three & 63);
		}
	}
}

/* Pairs that stand for themselves: bytes of a pattern, its first byte in hexadecimal digits. */
static bool is_coded_pair(const struct scrub_words *words, unsigned char first,
			  unsigned char second)
{
	uint8_t high = scrub_hex_value(first), low = scrub_hex_value(second);

	return first == '%' || first == '\\' ||
	       (scrub_is_line_end(first) && low != SCRUB_NOT_A_DIGIT) ||
	       (high != SCRUB_NOT_A_DIGIT && low != SCRUB_NOT_A_DIGIT &&
		words->is_first[high << 4 | low]);
}

/* Digits of base64, or a blank between two of them. */
static void note_base64_pairs(struct scrub_beginnings *beginnings)
{
	bool is_second[64] = { false };

	for (unsigned i = 0; i < 64 * 64; i++)
		is_second[i % 64] |= beginnings->digits[i] != 0;
	for (unsigned i = 0; i < 256 * 256; i++) {
		unsigned char first = (unsigned char)(i / 256), second = (unsigned char)(i % 256);
		uint8_t value = scrub_base64_value(first), next = scrub_base64_value(second);

		if (next == SCRUB_NOT_A_DIGIT)
			continue;
		if (value != SCRUB_NOT_A_DIGIT ? beginnings->digits[value << 6 | next] != 0
					       : scrub_is_blank(first) && is_second[next])
			note_pair(beginnings, first, second);
	}
}

struct scrub_beginnings *scrub_beginnings_new(const struct scrub_words *words)
{
	struct scrub_beginnings *beginnings = xcalloc(1, sizeof(*beginnings));

	for (size_t i = 0; i < words->count; i++) {
		const char *bytes = words->items[i].bytes;

		note_plain(beginnings, (unsigned char)bytes[0], (unsigned char)bytes[1]);
		if (bytes[0] == ' ')
			note_plain(beginnings, '+', (unsigned char)bytes[1]);
		note_base64(beginnings, bytes);
	}
	for (unsigned i = 0; i < 256 * 256; i++) {
		if (is_coded_pair(words, (unsigned char)(i / 256), (unsigned char)(i % 256)))
			note_pair(beginnings, (unsigned char)(i / 256), (unsigned char)(i % 256));
	}
	note_base64_pairs(beginnings);
	return beginnings;
}

/* Whether the byte of a pattern may be written like this; what is escaped is not looked at any further. */
static bool may_be(unsigned char wanted, unsigned char byte)
{
	return byte == wanted || byte == '%' || byte == '\\' || (byte == '+' && wanted == ' ');
}

/* Whether a pattern may begin with FIRST as it is, and with what follows, LEN bytes at NEXT. */
static bool is_text_begun(const struct scrub_words *words, unsigned char first, const char *next,
			  size_t len)
{
	unsigned char index = first == '+' && words->is_first[' '] ? ' ' : first;
	uint32_t from = words->first_at[index], to = words->first_at[index + 1];

	if (index != first || to - from > COMPARED_MAX)
		return true;
	for (uint32_t i = from; i < to; i++) {
		const char *bytes = words->items[words->by_first[i]].bytes;

		if (may_be((unsigned char)bytes[1], (unsigned char)next[0]) &&
		    (len < 2 || next[0] == '%' || next[0] == '\\' ||
		     may_be((unsigned char)bytes[2], (unsigned char)next[1])))
			return true;
	}
	return false;
}

/* The same of base64 that begins with the digit VALUE. Behind the second digit there may be a gap. */
static bool is_base64_begun(const struct scrub_words *words, uint8_t value, const char *next,
			    size_t len)
{
	uint8_t second = scrub_base64_value((unsigned char)next[0]), third;
	uint64_t thirds;
	size_t at = 1;

	if (value == SCRUB_NOT_A_DIGIT || second == SCRUB_NOT_A_DIGIT)
		return false;
	thirds = words->beginnings->digits[value << 6 | second];
	while (thirds && at < len && at <= SCRUB_GAP_MAX && scrub_is_blank((unsigned char)next[at]))
		at++;
	if (thirds == 0 || at == len)
		return thirds != 0;
	third = scrub_base64_value((unsigned char)next[at]);
	return third != SCRUB_NOT_A_DIGIT && (thirds >> third & 1);
}

/* The digit of base64 in front of the gap that ends with BYTES[AT]. */
static uint8_t digit_before_gap(const struct scrub *scrub, const char *bytes, size_t at)
{
	size_t gap = 1;

	while (gap <= at && gap <= SCRUB_GAP_MAX && scrub_is_blank((unsigned char)bytes[at - gap]))
		gap++;
	if (gap <= at)
		return scrub_base64_value((unsigned char)bytes[at - gap]);
	return scrub->base64.has_sextet ? scrub->base64.sextet : SCRUB_NOT_A_DIGIT;
}

/* There is a bit for the pair at AT: whether it has to be decoded. */
static bool is_begun(const struct scrub *scrub, const char *bytes, size_t at, size_t len)
{
	unsigned char first = (unsigned char)bytes[at];
	uint8_t value = scrub_is_blank(first) ? digit_before_gap(scrub, bytes, at)
					      : scrub_base64_value(first);

	return is_coded_pair(scrub->words, first, (unsigned char)bytes[at + 1]) ||
	       is_text_begun(scrub->words, first, bytes + at + 1, len - at - 1) ||
	       is_base64_begun(scrub->words, value, bytes + at + 1, len - at - 1);
}

/* The byte in front was decoded, but what it may begin shows only with the next ones. */
static bool goes_on(const struct scrub *scrub, const char *bytes, size_t len)
{
	uint8_t value = scrub->base64.has_sextet ? scrub->base64.sextet : SCRUB_NOT_A_DIGIT;

	return is_coded_pair(scrub->words, scrub->before, (unsigned char)bytes[0]) ||
	       is_base64_begun(scrub->words, value, bytes, len);
}

size_t scrub_scan(const struct scrub *scrub, const char *bytes, size_t len)
{
	size_t at = 0;

	if (len < 2 || goes_on(scrub, bytes, len))
		return 0;
	for (; at + 1 < len; at++) {
		if (is_pair(scrub->words, (unsigned char)bytes[at], (unsigned char)bytes[at + 1]) &&
		    is_begun(scrub, bytes, at, len))
			break;
	}
	return at;
}
