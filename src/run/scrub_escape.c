/* SPDX-License-Identifier: Apache-2.0 */
/* A stream read as what is written with '%' or '\\' and some digits or letters. */
#include "run/scrub_reader.h"

#include <string.h>

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

void scrub_decode_percent(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_percent *percent = &scrub->percent;

	if (percent->have > 0 && scrub_hex_value(byte) == SCRUB_NOT_A_DIGIT)
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
		unsigned value = scrub_hex_value((unsigned char)percent->digit) * 16u +
				 scrub_hex_value(byte);

		percent->have = 0;
		push_percent(scrub, (unsigned char)value,
			     (struct scrub_span){ percent->from, at + 1 }, false);
	}
}

/* A character in UTF-8; half of a pair of UTF-16 in three bytes. */
static void push_character(struct scrub *scrub, uint32_t value, struct scrub_span span)
{
	unsigned more = value < 0x80 ? 0 : value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
	static const unsigned char leads[] = { 0, 0xc0, 0xe0, 0xf0 };

	scrub_reader_push(scrub, SCRUB_ESCAPED, (unsigned char)(leads[more] | value >> 6 * more),
			  span);
	while (more-- > 0)
		scrub_reader_push(scrub, SCRUB_ESCAPED,
				  (unsigned char)(0x80 | (value >> 6 * more & 0x3f)), span);
}

/* The first half of a pair stands alone if anything but the second follows: nothing waits for that any longer. */
static void flush_high(struct scrub *scrub)
{
	uint32_t high = scrub->escape.high;

	scrub->escape.high = 0;
	if (high)
		push_character(scrub, high, scrub->escape.high_span);
}

static void push_escaped(struct scrub *scrub, unsigned value, struct scrub_span span)
{
	flush_high(scrub);
	scrub_reader_push(scrub, SCRUB_ESCAPED, (unsigned char)value, span);
}

/* The two halves of a character beyond U+FFFF come one after the other. */
static void push_utf16(struct scrub *scrub, uint32_t value, struct scrub_span span)
{
	struct scrub_escape *escape = &scrub->escape;

	if (escape->high && value >= 0xdc00 && value < 0xe000) {
		value = 0x10000 + ((escape->high - 0xd800) << 10) + (value - 0xdc00);
		span.from = escape->high_span.from;
		escape->high = 0;
	}
	flush_high(scrub);
	if (value >= 0xd800 && value < 0xdc00) {
		escape->high = value;
		escape->high_span = span;
		return;
	}
	push_character(scrub, value, span);
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
		value = value * base + scrub_hex_value((unsigned char)text[i]);
	return value;
}

/* An escape that broke off stands for itself. */
static void flush_escape(struct scrub *scrub)
{
	struct scrub_escape *escape = &scrub->escape;
	unsigned have = escape->have;

	escape->have = 0;
	for (uint32_t i = 0; i < have; i++)
		push_escaped(scrub, (unsigned char)escape->text[i],
			     (struct scrub_span){ escape->from + i, escape->from + i + 1 });
}

/* Of octal digits there may be one to three: only what follows, or the third, ends them. */
static bool end_octal(struct scrub *scrub, unsigned char next, uint32_t at)
{
	struct scrub_escape *escape = &scrub->escape;

	if (escape->have < 2 || !is_octal((unsigned char)escape->text[1]) ||
	    (escape->have < 4 && is_octal(next)))
		return false;
	push_escaped(scrub, number_of(escape->text + 1, escape->have - 1, 8),
		     (struct scrub_span){ escape->from, at });
	escape->have = 0;
	return true;
}

static void push_letter(struct scrub *scrub, unsigned char letter, struct scrub_span span)
{
	static const char letters[] = "nrtbfave", meant[] = "\n\r\t\b\f\a\v\033";
	const char *found = letter ? strchr(letters, letter) : NULL;

	push_escaped(scrub, found ? (unsigned char)meant[found - letters] : letter, span);
	scrub->escape.have = 0;
}

/* One byte behind a backslash, AT its place. */
static void go_on_escape(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_escape *escape = &scrub->escape;
	struct scrub_span span = { escape->from, at + 1 };
	unsigned wanted;

	if (escape->have == 1 && !digits_behind((char)byte) && !is_octal(byte)) {
		push_letter(scrub, byte, span);
		return;
	}
	escape->text[escape->have++] = (char)byte;
	wanted = digits_behind(escape->text[1]);
	if (!wanted || escape->have < 2 + wanted)
		return;
	escape->have = 0;
	if (wanted == 2)
		push_escaped(scrub, number_of(escape->text + 2, 2, 16), span);
	else
		push_utf16(scrub, number_of(escape->text + 2, wanted, 16), span);
}

void scrub_decode_escape(struct scrub *scrub, unsigned char byte, uint32_t at)
{
	struct scrub_escape *escape = &scrub->escape;

	(void)end_octal(scrub, byte, at);
	/* Digits are missing. */
	if (escape->have > 1 && scrub_hex_value(byte) == SCRUB_NOT_A_DIGIT)
		flush_escape(scrub);
	if (escape->have > 0) {
		go_on_escape(scrub, byte, at);
		return;
	}
	if (byte == '\\') {
		escape->text[0] = '\\';
		escape->have = 1;
		escape->from = at;
		return;
	}
	push_escaped(scrub, byte, (struct scrub_span){ at, at + 1 });
}

void scrub_decode_end(struct scrub *scrub)
{
	flush_percent(scrub);
	/* The place behind the last byte is only looked at where something ends there. */
	if (!end_octal(scrub, 'x', scrub->escape.from + scrub->escape.have))
		flush_escape(scrub);
	flush_high(scrub);
}
