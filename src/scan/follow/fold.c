/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as programs write and hide them. */
#include "scan/follow/fold.h"

#include <ctype.h>
#include <string.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void fold_character(struct str *out, unsigned long number)
{
	if (number < 0x80) {
		str_add_char(out, (char)number);
	} else if (number < 0x800) {
		str_add_char(out, (char)(0xc0 | number >> 6));
		str_add_char(out, (char)(0x80 | (number & 0x3f)));
	} else if (number < 0x10000) {
		str_add_char(out, (char)(0xe0 | number >> 12));
		str_add_char(out, (char)(0x80 | (number >> 6 & 0x3f)));
		str_add_char(out, (char)(0x80 | (number & 0x3f)));
	} else if (number < 0x110000) {
		str_add_char(out, (char)(0xf0 | number >> 18));
		str_add_char(out, (char)(0x80 | (number >> 12 & 0x3f)));
		str_add_char(out, (char)(0x80 | (number >> 6 & 0x3f)));
		str_add_char(out, (char)(0x80 | (number & 0x3f)));
	}
}

/* Up to MOST digits of BASE at AT; how many there were. */
static size_t read_digits(const char *at, const char *end, size_t most, unsigned base,
			  unsigned long *ret_number)
{
	size_t count = 0;

	*ret_number = 0;
	while (count < most && at + count < end) {
		int digit = digit_of(at[count]);

		if (digit < 0 || (unsigned)digit >= base)
			break;
		*ret_number = *ret_number * base + (unsigned)digit;
		count++;
	}
	return count;
}

/* \u{41}. */
static size_t read_braced(const char *at, const char *end, unsigned long *ret_number)
{
	size_t digits = read_digits(at + 1, end, 6, 16, ret_number);

	return digits > 0 && at + 1 + digits < end && at[1 + digits] == '}' ? digits + 2 : 0;
}

/* A number behind the backslash at AT: how long it is, without the backslash; 0 for none. */
static size_t read_number(const char *at, const char *end, unsigned long *ret_number)
{
	size_t most = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
	size_t digits;

	if (at + 1 < end && *at == 'u' && at[1] == '{') {
		digits = read_braced(at + 1, end, ret_number);
		return digits ? digits + 1 : 0;
	}
	if (most) {
		digits = read_digits(at + 1, end, most, 16, ret_number);
		return digits ? digits + 1 : 0;
	}
	return read_digits(at, end, 3, 8, ret_number);
}

static void add_simple(struct str *out, char letter)
{
	static const char from[] = "ntrabfve0", to[] = "\n\t\r\a\b\f\v\033";
	const char *found = strchr(from, letter);

	/* A backslash before the end of a line joins two lines. */
	if (letter == '\n')
		return;
	str_add_char(out, found && letter ? to[found - from] : letter);
}

void fold_escapes(struct str *out, const char *body, size_t len, bool *ret_hides)
{
	const char *at = body, *end = body + len;

	while (at < end) {
		unsigned long number;
		size_t length;

		if (*at != '\\' || at + 1 == end) {
			str_add_char(out, *at++);
			continue;
		}
		at++;
		length = read_number(at, end, &number);
		if (length == 0) {
			add_simple(out, *at++);
			continue;
		}
		if (number < 0x80 && isalnum((int)number))
			*ret_hides = true;
		fold_character(out, number);
		at += length;
	}
}

bool fold_hex(struct str *out, const char *text, size_t len)
{
	int high = -1;

	for (size_t i = 0; i < len; i++) {
		int digit = digit_of(text[i]);

		if (isspace((unsigned char)text[i]) && high < 0)
			continue;
		if (digit < 0)
			return false;
		if (high >= 0)
			str_add_char(out, (char)(high << 4 | digit));
		high = high >= 0 ? -1 : digit;
	}
	return high < 0;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

bool fold_base64(struct str *out, const char *text, size_t len)
{
	unsigned bits = 0, count = 0;

	for (size_t i = 0; i < len; i++) {
		int digit = base64_digit(text[i]);

		if (text[i] == '=' || isspace((unsigned char)text[i]))
			continue;
		if (digit < 0)
			return false;
		bits = bits << 6 | (unsigned)digit;
		count += 6;
		if (count >= 8) {
			count -= 8;
			str_add_char(out, (char)(bits >> count & 0xff));
		}
	}
	return true;
}

void fold_percent(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned long number;

		if (text[i] == '%' && read_digits(text + i + 1, text + len, 2, 16, &number) == 2) {
			str_add_char(out, (char)number);
			i += 2;
		} else {
			str_add_char(out, text[i]);
		}
	}
}

void fold_rot13(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		char first = c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : 0;
		int turned = first + (c - first + 13) % 26;

		str_add_char(out, first ? (char)turned : c);
	}
}

void fold_reverse(struct str *out, const char *text, size_t len)
{
	for (size_t i = len; i > 0; i--)
		str_add_char(out, text[i - 1]);
}
