/* Text shown on a terminal: whatever could steer it or deceive its reader becomes an escape. */
#include "front/cli/render.h"

#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 sequence that begins with FIRST; 0 when none does. */
static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	if (first < 0xe0)
		return 2;
	return first < 0xf0 ? 3 : 4;
}

/* Overlong forms, surrogates and what lies beyond Unicode are not characters. */
static bool is_character(uint32_t point, size_t len)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };

	return point >= smallest[len] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

/* Length and value of the UTF-8 sequence at AT; 0 when it is not one. */
static size_t decode(const unsigned char *at, size_t len, uint32_t *ret_point)
{
	size_t need = length_of(at[0]);
	uint32_t point = need == 1 ? at[0] : at[0] & (0x7fu >> need);

	if (need == 0 || need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3fu);
	}
	if (!is_character(point, need))
		return 0;
	*ret_point = point;
	return need;
}

/* Characters that reorder, join or hide text: a file name made of them reads as another one. */
static bool is_deceptive(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9f },	    { 0xad, 0xad },	  { 0x61c, 0x61c },   { 0x180e, 0x180e },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e },	  { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
		{ 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	}
	return false;
}

void render_safe(struct str *out, const char *text, size_t len, bool keep_lines)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + len;

	while (at < end) {
		uint32_t point = 0;
		size_t size = decode(at, (size_t)(end - at), &point);
		bool layout = point == '\n' || point == '\t';

		if (size == 0) {
			str_addf(out, "\\x%02x", *at);
			size = 1;
		} else if ((point < 0x20 && !(keep_lines && layout)) || point == 0x7f) {
			str_addf(out, "\\x%02x", *at);
		} else if (is_deceptive(point)) {
			str_addf(out, "\\u{%x}", point);
		} else {
			str_add_bytes(out, at, size);
		}
		at += size;
	}
}
