/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one escape; which bytes may be escaped is for the caller to decide. */
#include "base/text/percent.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int percent_byte(const char *text, size_t len)
{
	if (len < 3 || text[0] != '%' || hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
		return -1;
	return hex_digit(text[1]) << 4 | hex_digit(text[2]);
}
