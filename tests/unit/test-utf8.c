/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading UTF-8: characters and their numbers, and what is none. */
#include "tests/tap.h"

#include "base/core/utf8.h"

static void decodes(const char *bytes, size_t want_len, uint32_t want_point, const char *what)
{
	uint32_t point = 0;
	size_t len = utf8_decode(bytes, strlen(bytes), &point);

	tap_ok(len == want_len && point == want_point, "%s", what);
}

int main(void)
{
	decodes("a", 1, 'a', "ASCII");
	decodes("\xc3\xa9x", 2, 0xe9, "two bytes");
	decodes("\xe2\x80\xae", 3, 0x202e, "three bytes");
	decodes("\xf0\x9f\x99\x82", 4, 0x1f642, "four bytes");
	decodes("\xf4\x8f\xbf\xbf", 4, 0x10ffff, "the last one there is");
	decodes("\xf4\x90\x80\x80", 0, 0, "nothing beyond it");
	decodes("\xed\xa0\x80", 0, 0, "no surrogate");
	decodes("\xc0\xaf", 0, 0, "no overlong form");
	decodes("\xe0\x9f\xbf", 0, 0, "of three bytes neither");
	decodes("\xe2\x80", 0, 0, "no torn one");
	decodes("\x80", 0, 0, "no later byte at the front");
	tap_ok(utf8_valid("", 0) && utf8_valid("abcdefghi\xc3\xa9", 11), "whole texts");
	tap_ok(!utf8_valid("abcdefgh\xff", 9), "with one wrong byte");
	return tap_done();
}
