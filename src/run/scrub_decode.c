/*
 * What a stream may be the encoding of: each decoder takes the stream byte by byte and feeds its readers.
 *
 * Gaps inside base64 and digits are bounded, so that what is held is.
 */
#include "run/scrub_reader.h"

#include <string.h>

#define GAP_MAX 64
#define DUMP_LINE_MAX 160
#define NOT_A_DIGIT 0xff

/* Values of digits, from 1; 0: it is none. */
static const uint8_t hex_values[256] = {
	['0'] = 1, 2,  3,  4,  5,  6,	       7,  8,  9,  10, ['A'] = 11,
	12,	   13, 14, 15, 16, ['a'] = 11, 12, 13, 14, 15, 16,
};

/* Both alphabets. */
static const uint8_t base64_values[256] = {
	['A'] = 1, 2,  3,  4,  5,	   6,  7,  8,	       9,	   10,	       11,
	12,	   13, 14, 15, 16,	   17, 18, 19,	       20,	   21,	       22,
	23,	   24, 25, 26, ['a'] = 27, 28, 29, 30,	       31,	   32,	       33,
	34,	   35, 36, 37, 38,	   39, 40, 41,	       42,	   43,	       44,
	45,	   46, 47, 48, 49,	   50, 51, 52,	       ['0'] = 53, 54,	       55,
	56,	   57, 58, 59, 60,	   61, 62, ['+'] = 63, ['-'] = 63, ['/'] = 64, ['_'] = 64,
};

static inline uint8_t hex_value(unsigned char c)
{
	return (uint8_t)(hex_values[c] - 1);
}

static inline uint8_t base64_value(unsigned char c)
{
	return (uint8_t)(base64_values[c] - 1);
}

static bool is_blank(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A byte that stands for itself; with IS_PLUS forms take it for a space. */
static void push_percent(struct scrub *scrub, unsigned char byte, struct scrub_span span,
			 bool is_plus)
{
	scrub_reader_push(scrub, SCRUB_PERCENT, byte, span);
	if (scrub->words->has_space)
		scrub_reader_push(scrub, SCRUB_FORM, is_plus ? ' ' : byte, span);
}

/* What has come of an escape that is none stands for itself. */
static void flush_percent(struct scrub *scrub)
{
	struct scrub_percent *percent = &scrub->percent;
	uint32_t from = percent->from;

	if (percent->have > 0)
		push_percent(scrub, '%', (struct scrub_span){ from, from + 1 }, false);
	if (percent->have > 1)
		push_percent(scrub, (unsigned char)percent->digit,
			     (struct scrub_span){ from + 1, from + 2 }, false);
	percent->have = 0;
}

static void decode_percent(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_percent *percent = &scrub->percent;

	if (percent->have > 0 && hex_value(byte) == NOT_A_DIGIT)
		flush_percent(scrub);
	if (percent->have == 0 && byte != '%') {
		push_percent(scrub, byte, (struct scrub_span){ at, at + 1 }, byte == '+');
	} else if (percent->have == 0) {
		percent->from = at;
		percent->have = 1;
	} else if (percent->have == 1) {
		percent->digit = (char)byte;
		percent->have = 2;
	} else {
		unsigned value = hex_value((unsigned char)percent->digit) * 16u + hex_value(byte);

		percent->have = 0;
		push_percent(scrub, (unsigned char)value,
			     (struct scrub_span){ percent->from, at + 1 }, false);
	}
}

static void push_escaped(struct scrub *scrub, unsigned value, uint32_t end)
{
	scrub_reader_push(scrub, SCRUB_ESCAPED, (unsigned char)value,
			  (struct scrub_span){ scrub->escape.from, end });
}

/* A character in UTF-8. The two halves of one beyond U+FFFF come one after the other. */
static void push_character(struct scrub *scrub, uint32_t value, uint32_t end)
{
	struct scrub_escape *escape = &scrub->escape;

	if (escape->high && value >= 0xdc00 && value < 0xe000)
		value = 0x10000 + ((escape->high - 0xd800) << 10) + (value - 0xdc00);
	escape->high = value >= 0xd800 && value < 0xdc00 ? value : 0;
	if (escape->high)
		return;
	if (value >= 0x10000) {
		push_escaped(scrub, 0xf0 | value >> 18, end);
		push_escaped(scrub, 0x80 | (value >> 12 & 0x3f), end);
	} else if (value >= 0x800) {
		push_escaped(scrub, 0xe0 | value >> 12, end);
	}
	if (value >= 0x800)
		push_escaped(scrub, 0x80 | (value >> 6 & 0x3f), end);
	else if (value >= 0x80)
		push_escaped(scrub, 0xc0 | value >> 6, end);
	push_escaped(scrub, value < 0x80 ? value : 0x80 | (value & 0x3f), end);
}

/* How many digits belong behind "\x", "\u", "\U"; 0: it is none of those. */
static unsigned digits_behind(char kind)
{
	return kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
}

static bool is_octal(unsigned char c)
{
	return c >= '0' && c <= '7';
}

static uint32_t number_of(const char *text, size_t len, uint32_t base)
{
	uint32_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value * base + hex_value((unsigned char)text[i]);
	return value;
}

/* An escape that broke off stands for itself. */
static void flush_escape(struct scrub *scrub)
{
	struct scrub_escape *escape = &scrub->escape;
	uint32_t from = escape->from;
	unsigned have = escape->have;

	escape->have = 0;
	escape->high = 0;
	for (unsigned i = 0; i < have; i++, escape->from++)
		push_escaped(scrub, (unsigned char)escape->text[i], from + i + 1);
}

/* Of octal digits there may be one to three: only what follows, or the third, ends them. */
static bool end_octal(struct scrub *scrub, unsigned char next, uint32_t at)
{
	struct scrub_escape *escape = &scrub->escape;

	if (escape->have < 2 || !is_octal((unsigned char)escape->text[1]) ||
	    (escape->have < 4 && is_octal(next)))
		return false;
	push_escaped(scrub, number_of(escape->text + 1, escape->have - 1, 8), at);
	escape->have = 0;
	return true;
}

static void push_letter(struct scrub *scrub, unsigned char letter, uint32_t end)
{
	static const char letters[] = "nrtbfave", meant[] = "\n\r\t\b\f\a\v\033";
	const char *found = letter ? strchr(letters, letter) : NULL;

	push_escaped(scrub, found ? (unsigned char)meant[found - letters] : letter, end);
	scrub->escape.have = 0;
}

/* One byte behind a backslash, AT its place. */
static void go_on_escape(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_escape *escape = &scrub->escape;
	unsigned wanted;

	if (escape->have == 1 && !digits_behind((char)byte) && !is_octal(byte)) {
		push_letter(scrub, byte, at + 1);
		return;
	}
	escape->text[escape->have++] = (char)byte;
	wanted = digits_behind(escape->text[1]);
	if (!wanted || escape->have < 2 + wanted)
		return;
	escape->have = 0;
	if (wanted == 2)
		push_escaped(scrub, number_of(escape->text + 2, 2, 16), at + 1);
	else
		push_character(scrub, number_of(escape->text + 2, wanted, 16), at + 1);
}

static void decode_escape(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_escape *escape = &scrub->escape;

	(void)end_octal(scrub, byte, at);
	/* Digits are missing. */
	if (escape->have > 1 && hex_value(byte) == NOT_A_DIGIT)
		flush_escape(scrub);
	if (escape->have > 0) {
		go_on_escape(scrub, byte, at);
		return;
	}
	if (byte == '\\') {
		escape->text[0] = '\\';
		escape->have = 1;
		if (!escape->high)
			escape->from = at;
		return;
	}
	escape->high = 0;
	scrub_reader_push(scrub, SCRUB_ESCAPED, byte, (struct scrub_span){ at, at + 1 });
}

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
}

static bool stands_between(unsigned char c)
{
	return is_blank(c) || c == ':' || c == ',' || c == '.' || c == '-' || c == '"' || c == '\'';
}

/* The second reader begins a row with its second digit, unless it is inside a pattern that goes on in this row. */
static void decode_digits(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	uint8_t value = hex_value(byte);

	if (value != NOT_A_DIGIT) {
		push_digit(scrub, SCRUB_HEX, &scrub->digits[0], value, at);
		if (scrub->row_len > 0 || scrub_reader_is_busy(scrub, SCRUB_HEX_ODD))
			push_digit(scrub, SCRUB_HEX_ODD, &scrub->digits[1], value, at);
		scrub->row_len++;
		scrub->row_gap = 0;
		return;
	}
	/* "0x68": the nought is no digit of a byte. */
	if ((byte | 0x20) == 'x' && scrub->row_len == 1 && scrub->digits[0].half == 0) {
		scrub->digits[0].has_half = scrub->digits[1].has_half = false;
		scrub->row_len = 0;
		return;
	}
	if (!stands_between(byte) || ++scrub->row_gap > GAP_MAX) {
		reset_digits(scrub);
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (scrub->digits[i].has_half)
			scrub_reader_reset(scrub, i ? SCRUB_HEX_ODD : SCRUB_HEX);
		scrub->digits[i].has_half = false;
	}
	scrub->row_len = 0;
}

static void leave_dump(struct scrub *scrub)
{
	scrub_reader_reset(scrub, SCRUB_DUMP);
	scrub->dump.part = DUMP_TEXT;
	scrub->dump.digits.has_half = false;
}

static void end_dump_line(struct scrub *scrub)
{
	if (scrub->dump.line_bytes == 0)
		scrub_reader_reset(scrub, SCRUB_DUMP);
	scrub->dump = (struct scrub_dump){ .part = DUMP_OFFSET };
}

/* In front of the bytes: "00000010:" as xxd writes it, or seven or eight digits and a blank. */
static void decode_dump_offset(struct scrub *scrub, unsigned char byte)
{
	struct scrub_dump *dump = &scrub->dump;
	bool is_digit = hex_value(byte) != NOT_A_DIGIT;

	if (is_digit && dump->offset_digits++ < 16)
		return;
	dump->has_colon = byte == ':';
	if ((byte == ':' && dump->offset_digits >= 4) ||
	    (is_blank(byte) && dump->offset_digits >= 6))
		dump->part = DUMP_BYTES;
	else
		leave_dump(scrub);
}

static void decode_dump_bytes(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_dump *dump = &scrub->dump;
	uint8_t value = hex_value(byte);

	if (value != NOT_A_DIGIT) {
		push_digit(scrub, SCRUB_DUMP, &dump->digits, value, at);
		dump->line_bytes += !dump->digits.has_half;
		dump->blanks = 0;
		return;
	}
	if (dump->digits.has_half) {
		leave_dump(scrub);
		return;
	}
	if (byte == '-' || is_blank(byte)) {
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

	if (byte == '\n') {
		end_dump_line(scrub);
		return;
	}
	if (++dump->line_len == DUMP_LINE_MAX)
		leave_dump(scrub);
	if (dump->part == DUMP_OFFSET)
		decode_dump_offset(scrub, byte);
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
	uint8_t value = base64_value(byte), before = scrub->base64.sextet;
	/* Behind a gap nothing in front of it is held any more: what stands there are a few bits of one byte. */
	struct scrub_span span = { scrub->base64.gap ? at : scrub->base64.from, at + 1 };
	unsigned index = scrub->base64.index;

	if (value == NOT_A_DIGIT) {
		if (!is_blank(byte) || ++scrub->base64.gap > GAP_MAX)
			reset_base64(scrub);
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

/* Nothing is under way in escapes, and this byte neither begins one nor, by itself and with the next, a pattern. */
static bool stands_for_itself(const struct scrub *scrub, unsigned char byte, int next)
{
	return !scrub->words->is_first[byte] ||
	       (next >= 0 && next != '%' && next != '\\' && next != '+' &&
		!scrub_words_has_pair(scrub->words, byte, (unsigned char)next));
}

static void decode_as_text(struct scrub *scrub, unsigned char byte, int next, uint32_t at)
{
	if (scrub->busy_count == 0 && scrub->percent.have == 0 && scrub->escape.have == 0 &&
	    !scrub->escape.high && byte != '%' && byte != '\\' && byte != '+' &&
	    stands_for_itself(scrub, byte, next))
		return;
	scrub_reader_push(scrub, SCRUB_PLAIN, byte, (struct scrub_span){ at, at + 1 });
	decode_percent(scrub, byte, at);
	decode_escape(scrub, byte, at);
}

void scrub_decode(struct scrub *scrub, unsigned char byte, int next, uint32_t at)
{
	decode_as_text(scrub, byte, next, at);
	decode_digits(scrub, byte, at);
	decode_dump(scrub, byte, at);
	decode_base64(scrub, byte, at);
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
	if (scrub->escape.have > 0 || scrub->escape.high)
		take_earlier(scrub->escape.from, &has, ret_at);
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

void scrub_decode_end(struct scrub *scrub)
{
	flush_percent(scrub);
	/* The place behind the last byte is only looked at where something ends there. */
	if (!end_octal(scrub, 'x', scrub->escape.from + scrub->escape.have))
		flush_escape(scrub);
}
