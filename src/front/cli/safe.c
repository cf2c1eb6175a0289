/* SPDX-License-Identifier: Apache-2.0 */
/* Text shown on a terminal: whatever could steer it or deceive its reader becomes an escape. */
#include "front/cli/render.h"

#include "base/core/utf8.h"

#include <stdint.h>

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
		} else if (utf8_is_deceptive(point)) {
			str_addf(out, "\\u{%x}", point);
		} else {
			str_add_bytes(out, at, size);
		}
		at += size;
	}
}
