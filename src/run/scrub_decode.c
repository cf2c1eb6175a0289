/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stream may be the encoding of: each decoder takes the stream byte by byte and feeds its readers.
 *
 * Gaps inside base64 and digits are bounded, so that what is held is.
 */
#include "run/scrub_reader.h"

#define DUMP_LINE_MAX 160

/* Values of digits, from 1; 0: it is none. */
const uint8_t scrub_hex_values[256] = {
	['0'] = 1, 2,  3,  4,  5,  6,	       7,  8,  9,  10, ['A'] = 11,
	12,	   13, 14, 15, 16, ['a'] = 11, 12, 13, 14, 15, 16,
};

/* Both alphabets. */
const uint8_t scrub_base64_values[256] = {
	['A'] = 1, 2,  3,  4,  5,	   6,  7,  8,	       9,	   10,	       11,
	12,	   13, 14, 15, 16,	   17, 18, 19,	       20,	   21,	       22,
	23,	   24, 25, 26, ['a'] = 27, 28, 29, 30,	       31,	   32,	       33,
	34,	   35, 36, 37, 38,	   39, 40, 41,	       42,	   43,	       44,
	45,	   46, 47, 48, 49,	   50, 51, 52,	       ['0'] = 53, 54,	       55,
	56,	   57, 58, 59, 60,	   61, 62, ['+'] = 63, ['-'] = 63, ['/'] = 64, ['_'] = 64,
};

static void push_digit(struct scrub *scrub, enum scrub_reading reading, struct scrub_digits *digits,
		       uint8_t value, uint32_t at)
{
	if (!digits->has_half) {
		*digits = (struct scrub_digits){ at, true, value };
		return;
	}
	digits->has_half = false;
	scrub_reader_push(scrub, reading, (unsigned char)(digits->half << 4 | value),
			  (struct scrub_span){ digits->from, at + 1 });
}

static void reset_digits(struct scrub *scrub)
{
	scrub_reader_reset(scrub, SCRUB_HEX);
	scrub_reader_reset(scrub, SCRUB_HEX_ODD);
	scrub->digits[0].has_half = scrub->digits[1].has_half = false;
	scrub->row_len = scrub->row_gap = 0;
	scrub->has_row_end = false;
}

static bool stands_between(unsigned char c)
{
	return scrub_is_blank(c) || c == ':' || c == ',' || c == '.' || c == '-' || c == '"' ||
	       c == '\'';
}

/* Between pairs of digits; NEXT is the place behind it. */
static void decode_row_gap(struct scrub *scrub, unsigned char byte, uint32_t next)
{
	for (int i = 0; i < 2; i++) {
		enum scrub_reading reading = i ? SCRUB_HEX_ODD : SCRUB_HEX;

		if (scrub->digits[i].has_half)
			scrub_reader_reset(scrub, reading);
		scrub->digits[i].has_half = false;
	}
	scrub->row_len = 0;
	scrub->has_row_end |= scrub_is_line_end(byte);
	if (!scrub->has_row_end)
		return;
	scrub_reader_let_go(scrub, SCRUB_HEX, next);
	scrub_reader_let_go(scrub, SCRUB_HEX_ODD, next);
}

/* The second reader begins a row with its second digit, unless it is inside a pattern that goes on in this row. */
static void decode_digits(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	uint8_t value = scrub_hex_value(byte);

	if (value != SCRUB_NOT_A_DIGIT) {
		push_digit(scrub, SCRUB_HEX, &scrub->digits[0], value, at);
		if (scrub->row_len > 0 || scrub_reader_is_busy(scrub, SCRUB_HEX_ODD))
			push_digit(scrub, SCRUB_HEX_ODD, &scrub->digits[1], value, at);
		if (++scrub->row_len > 1) {
			scrub->row_gap = 0;
			scrub->has_row_end = false;
		}
		return;
	}
	/* "0x68": the nought is no digit of a byte, and counts as part of the gap. */
	if ((byte | 0x20) == 'x' && scrub->row_len == 1 && scrub->digits[0].half == 0) {
		scrub->digits[0].has_half = scrub->digits[1].has_half = false;
		scrub->row_gap++;
	} else if (!stands_between(byte)) {
		scrub->row_gap = SCRUB_GAP_MAX;
	}
	if (++scrub->row_gap > SCRUB_GAP_MAX)
		reset_digits(scrub);
	else
		decode_row_gap(scrub, byte, at + 1);
}

static void leave_dump(struct scrub *scrub)
{
	scrub_reader_reset(scrub, SCRUB_DUMP);
	scrub->dump.part = DUMP_TEXT;
	scrub->dump.digits.has_half = false;
	scrub->dump.tail = 0;
}

/* A line ends with \n, \r or both. NEXT is the place behind it. */
static void end_dump_line(struct scrub *scrub, unsigned char byte, uint32_t next)
{
	struct scrub_dump *dump = &scrub->dump;
	bool is_second = byte == '\n' && dump->is_after_return && dump->line_len == 0;

	if (dump->line_bytes == 0 && !is_second)
		scrub_reader_reset(scrub, SCRUB_DUMP);
	*dump = (struct scrub_dump){ .part = DUMP_OFFSET, .is_after_return = byte == '\r' };
	scrub_reader_let_go(scrub, SCRUB_DUMP, next);
}

/* In front of the bytes: "00000010:" as xxd writes it, or seven or eight digits and a blank. */
static void decode_dump_offset(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_dump *dump = &scrub->dump;
	bool is_digit = scrub_hex_value(byte) != SCRUB_NOT_A_DIGIT;

	scrub_reader_let_go(scrub, SCRUB_DUMP, at + 1);
	if (is_digit && dump->offset_digits++ < 16)
		return;
	dump->has_colon = byte == ':';
	if ((byte == ':' && dump->offset_digits >= 4) ||
	    (scrub_is_blank(byte) && dump->offset_digits >= 6))
		dump->part = DUMP_BYTES;
	else
		leave_dump(scrub);
}

static void decode_dump_bytes(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_dump *dump = &scrub->dump;
	uint8_t value = scrub_hex_value(byte);

	if (value != SCRUB_NOT_A_DIGIT) {
		push_digit(scrub, SCRUB_DUMP, &dump->digits, value, at);
		dump->line_bytes += !dump->digits.has_half;
		dump->blanks = 0;
		return;
	}
	if (dump->digits.has_half) {
		leave_dump(scrub);
		return;
	}
	if (byte == '-' || scrub_is_blank(byte)) {
		dump->blanks++;
		if (dump->has_colon && dump->blanks >= 2 && dump->line_bytes > 0)
			dump->part = DUMP_TEXT;
		return;
	}
	dump->part = DUMP_TEXT;
}

static void decode_dump(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_dump *dump = &scrub->dump;

	if (scrub_is_line_end(byte)) {
		end_dump_line(scrub, byte, at + 1);
		return;
	}
	if (++dump->line_len == DUMP_LINE_MAX)
		leave_dump(scrub);
	if (dump->part == DUMP_OFFSET)
		decode_dump_offset(scrub, byte, at);
	else if (dump->part == DUMP_BYTES)
		decode_dump_bytes(scrub, byte, at);
}

static void reset_base64(struct scrub *scrub)
{
	for (unsigned i = 0; scrub->busy_count > 0 && i < 4; i++)
		scrub_reader_reset(scrub, SCRUB_BASE64 + i);
	scrub->base64.has_sextet = false;
	scrub->base64.index = scrub->base64.gap = 0;
}

/* Each sextet is the first, second, third and fourth of its group to one of four readers. */
static void decode_base64(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	uint8_t value = scrub_base64_value(byte), before = scrub->base64.sextet;
	/* Behind a gap nothing in front of it is held any more: what stands there are a few bits of one byte. */
	struct scrub_span span = { scrub->base64.gap ? at : scrub->base64.from, at + 1 };
	unsigned index = scrub->base64.index;

	if (value == SCRUB_NOT_A_DIGIT) {
		if (!scrub_is_blank(byte) || ++scrub->base64.gap > SCRUB_GAP_MAX)
			reset_base64(scrub);
		for (unsigned i = 0; scrub->busy_count > 0 && i < 4; i++)
			scrub_reader_let_go(scrub, SCRUB_BASE64 + i, at + 1);
		return;
	}
	if (scrub->base64.has_sextet) {
		scrub_reader_push(scrub, SCRUB_BASE64 + (index + 3) % 4,
				  (unsigned char)(before << 2 | value >> 4), span);
		scrub_reader_push(scrub, SCRUB_BASE64 + (index + 2) % 4,
				  (unsigned char)(before << 4 | value >> 2), span);
		scrub_reader_push(scrub, SCRUB_BASE64 + (index + 1) % 4,
				  (unsigned char)(before << 6 | value), span);
	}
	scrub->base64.from = at;
	scrub->base64.sextet = value;
	scrub->base64.has_sextet = true;
	scrub->base64.index++;
	scrub->base64.gap = 0;
}

void scrub_decode(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	scrub_reader_push(scrub, SCRUB_PLAIN, byte, (struct scrub_span){ at, at + 1 });
	scrub_decode_percent(scrub, byte, at);
	scrub_decode_escape(scrub, byte, at);
	decode_digits(scrub, byte, at);
	decode_dump(scrub, byte, at);
	decode_base64(scrub, byte, at);
	scrub->before = byte;
}

/* The last digit of base64, and the blanks behind it. */
static void skip_base64(struct scrub *scrub, const char *bytes, size_t len, uint32_t end)
{
	size_t gap = 0;

	while (gap < len && gap <= SCRUB_GAP_MAX &&
	       scrub_is_blank((unsigned char)bytes[len - 1 - gap]))
		gap++;
	if (gap == len) {
		scrub->base64.gap += (unsigned)gap;
	} else {
		scrub->base64.sextet = scrub_base64_value((unsigned char)bytes[len - 1 - gap]);
		scrub->base64.has_sextet = scrub->base64.sextet != SCRUB_NOT_A_DIGIT;
		scrub->base64.from = end - 1;
		scrub->base64.gap = (unsigned)gap;
	}
	if (scrub->base64.gap > SCRUB_GAP_MAX)
		reset_base64(scrub);
}

void scrub_decode_skip(struct scrub *scrub, const char *bytes, size_t len, uint32_t end)
{
	unsigned char last = (unsigned char)bytes[len - 1];
	/* What the row of digits was before its last two matters only to readers that are inside a pattern. */
	size_t count = len < 2 ? len : 2;

	if (len > 2)
		reset_digits(scrub);
	for (size_t i = len - count; i < len; i++)
		decode_digits(scrub, (unsigned char)bytes[i], end - (uint32_t)(len - i));
	skip_base64(scrub, bytes, len, end);
	scrub->dump =
		(struct scrub_dump){ .part = scrub_is_line_end(last) ? DUMP_OFFSET : DUMP_TEXT };
	scrub->before = last;
}

bool scrub_decode_is_idle(const struct scrub *scrub)
{
	return scrub->busy_count == 0 && scrub->percent.have == 0 && scrub->escape.have == 0 &&
	       !scrub->escape.high && !scrub->dump.tail && scrub->dump.part == DUMP_TEXT;
}

static void take_earlier(uint32_t at, bool *has, uint32_t *ret_at)
{
	if (!*has || (int32_t)(at - *ret_at) < 0)
		*ret_at = at;
	*has = true;
}

bool scrub_decode_pending(const struct scrub *scrub, uint32_t *ret_at)
{
	const struct scrub_words *words = scrub->words;
	const struct scrub_digits *rows[] = { &scrub->digits[0], &scrub->digits[1],
					      &scrub->dump.digits };
	uint8_t sextet = scrub->base64.sextet;
	bool has = false;

	if (scrub->percent.have > 0)
		take_earlier(scrub->percent.from, &has, ret_at);
	if (scrub->escape.have > 0)
		take_earlier(scrub->escape.from, &has, ret_at);
	if (scrub->escape.high)
		take_earlier(scrub->escape.high_span.from, &has, ret_at);
	for (size_t i = 0; i < 3; i++) {
		if (rows[i]->has_half && words->begins_four[rows[i]->half])
			take_earlier(rows[i]->from, &has, ret_at);
	}
	/* Not over a gap: lines would wait for the next one. */
	if (scrub->base64.has_sextet && scrub->base64.gap == 0 &&
	    (words->begins_six[sextet] || words->begins_four[sextet & 15] ||
	     words->begins_two[sextet & 3]))
		take_earlier(scrub->base64.from, &has, ret_at);
	return has;
}
