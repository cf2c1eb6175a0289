/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, read strictly. */
#include "base/core/utf8.h"

#include <string.h>

/* How long a sequence is by its first byte, and what its second may be: neither overlong forms nor surrogates. */
struct row {
	unsigned char first_low, first_high, len, second_low, second_high;
};

static const struct row rows[] = {
	{ 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf }, { 0xe1, 0xec, 3, 0x80, 0xbf },
	{ 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf }, { 0xf0, 0xf0, 4, 0x90, 0xbf },
	{ 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct row *row_of(unsigned char first)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (first >= rows[i].first_low && first <= rows[i].first_high)
			return &rows[i];
	}
	return NULL;
}

size_t utf8_expected(unsigned char first)
{
	const struct row *row = row_of(first);

	return row ? row->len : 1;
}

static size_t sequence(const unsigned char *bytes, size_t len)
{
	if (bytes[0] < 0x80)
		return 1;
	const struct row *row = row_of(bytes[0]);

	if (!row || len < row->len || bytes[1] < row->second_low || bytes[1] > row->second_high)
		return 0;
	for (size_t i = 2; i < row->len; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	}
	return row->len;
}

/* Program output is nearly always ASCII: it is taken eight bytes at a time. */
static bool is_ascii_word(const unsigned char *bytes, size_t len)
{
	uint64_t eight;

	if (len < sizeof(eight))
		return false;
	memcpy(&eight, bytes, sizeof(eight));
	return (eight & UINT64_C(0x8080808080808080)) == 0;
}

bool utf8_valid(const char *bytes, size_t len)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t i = 0;

	while (i < len) {
		size_t step = is_ascii_word(at + i, len - i) ? 8 : sequence(at + i, len - i);

		if (step == 0)
			return false;
		i += step;
	}
	return true;
}

size_t utf8_decode(const char *bytes, size_t len, uint32_t *ret_point)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t size = sequence(at, len);
	uint32_t point = size == 1 ? at[0] : at[0] & (0x7fu >> size);

	for (size_t i = 1; i < size; i++)
		point = point << 6 | (at[i] & 0x3fu);
	if (size > 0)
		*ret_point = point;
	return size;
}

bool utf8_is_deceptive(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9f },	      { 0xad, 0xad },	  { 0x34f, 0x34f },   { 0x61c, 0x61c },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e },   { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0e },
		{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	}
	return false;
}
