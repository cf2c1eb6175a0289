/* SPDX-License-Identifier: Apache-2.0 */
/* Standard base64 with padding, for bytes that JSON cannot carry. */
#include "base/text/json_write.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct str *out, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		unsigned bits = (unsigned)at[i] << 16;
		char four[4];

		if (have > 1)
			bits |= (unsigned)at[i + 1] << 8;
		if (have > 2)
			bits |= at[i + 2];
		four[0] = alphabet[bits >> 18];
		four[1] = alphabet[bits >> 12 & 63];
		four[2] = have > 1 ? alphabet[bits >> 6 & 63] : '=';
		four[3] = have > 2 ? alphabet[bits & 63] : '=';
		str_add_bytes(out, four, sizeof(four));
	}
}

static bool read_four(struct str *out, const char *four, bool is_last)
{
	unsigned char three[3];
	size_t digits = 4;
	unsigned bits = 0;

	if (is_last && four[3] == '=')
		digits = four[2] == '=' ? 2 : 3;
	for (size_t i = 0; i < digits; i++) {
		const char *found = four[i] ? strchr(alphabet, four[i]) : NULL;

		if (!found)
			return false;
		bits |= (unsigned)(found - alphabet) << (18 - 6 * i);
	}
	three[0] = (unsigned char)(bits >> 16);
	three[1] = (unsigned char)(bits >> 8);
	three[2] = (unsigned char)bits;
	/* Bits behind the last byte must be zero: one text for each value. */
	if ((digits == 2 && (bits & 0xffff)) || (digits == 3 && (bits & 0xff)))
		return false;
	str_add_bytes(out, three, digits - 1);
	return true;
}

bool base64_read(struct str *out, const char *text, size_t len)
{
	size_t before = out->len;

	if (len % 4)
		return false;
	for (size_t i = 0; i < len; i += 4) {
		if (read_four(out, text + i, i + 4 == len))
			continue;
		str_truncate(out, before);
		return false;
	}
	return true;
}
