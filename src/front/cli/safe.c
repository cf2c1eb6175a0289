/* Text shown on a terminal: whatever could steer it or deceive its reader becomes an escape. */
#include "front/cli/render.h"

#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/*
 * Characters that reorder, join or hide text: a file name made of them reads as another one. U+FE0F stays, for it makes
 * no difference but to emoji, where people use it.
 */
static bool is_deceptive(uint32_t point)
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

void render_safe(struct str *out, const char *text, size_t len, bool keep_lines)
{
	const char *at = text, *end = at + len;

	while (at < end) {
		uint32_t point = 0;
		size_t size = utf8_decode(at, (size_t)(end - at), &point);
		bool layout = point == '\n' || point == '\t';

		if (size == 0) {
			str_addf(out, "\\x%02x", (unsigned char)*at);
			size = 1;
		} else if ((point < 0x20 && !(keep_lines && layout)) || point == 0x7f) {
			str_addf(out, "\\x%02x", (unsigned char)*at);
		} else if (is_deceptive(point)) {
			str_addf(out, "\\u{%x}", point);
		} else {
			str_add_bytes(out, at, size);
		}
		at += size;
	}
}
