/* SPDX-License-Identifier: Apache-2.0 */
/* Moments read from text; apart from the clocks, which the hot path needs without this. */
#include "base/core/clock.h"

#include <stdlib.h>

/* ".123" behind the seconds. */
static const char *read_ms(const char *text, uint64_t *ret_ms)
{
	char digits[4] = "000";
	size_t count = 0;

	for (text++; *text >= '0' && *text <= '9'; text++, count++) {
		if (count < 3)
			digits[count] = *text;
	}
	*ret_ms = strtoul(digits, NULL, 10);
	return count ? text : NULL;
}

/* "-07": a number of one or two digits, or as many as there may be, behind SIGN, which none has where it is 0. */
static const char *read_part(const char *text, char sign, int digits, int max, int *ret_number)
{
	int count = 0, number = 0;

	if (!text || (sign && *text++ != sign))
		return NULL;
	for (; count < digits && *text >= '0' && *text <= '9'; text++, count++)
		number = number * 10 + (*text - '0');
	*ret_number = number;
	return count > 0 && number <= max ? text : NULL;
}

/* Not strptime: what else than digits may stand for a number is the C library's affair. */
static const char *read_date(const char *text, struct tm *parts)
{
	text = read_part(text, 0, 4, 9999, &parts->tm_year);
	text = read_part(text, '-', 2, 12, &parts->tm_mon);
	text = read_part(text, '-', 2, 31, &parts->tm_mday);
	parts->tm_year -= 1900;
	parts->tm_mon--;
	return parts->tm_mon < 0 || parts->tm_mday == 0 ? NULL : text;
}

static const char *read_time(const char *text, struct tm *parts)
{
	text = read_part(text, 'T', 2, 23, &parts->tm_hour);
	text = read_part(text, ':', 2, 59, &parts->tm_min);
	return read_part(text, ':', 2, 60, &parts->tm_sec);
}

/* "Z", "+02:00" or nothing at the end: seconds that this is ahead of UTC. */
static bool read_zone(const char *text, int *ret_ahead_s)
{
	int hours, minutes;
	char sign = *text;

	*ret_ahead_s = 0;
	if (!sign || (sign == 'Z' && !text[1]))
		return true;
	if (sign != '+' && sign != '-')
		return false;
	text = read_part(text, sign, 2, 23, &hours);
	text = read_part(text, ':', 2, 59, &minutes);
	if (!text || *text)
		return false;
	*ret_ahead_s = (hours * 60 + minutes) * (sign == '+' ? 60 : -60);
	return true;
}

bool time_parse_utc(const char *text, uint64_t *ret_ms)
{
	struct tm parts = { .tm_sec = 0 };
	const char *rest = read_date(text, &parts);
	uint64_t ms = 0;
	time_t seconds;
	int ahead_s;

	if (rest && *rest == 'T')
		rest = read_time(rest, &parts);
	if (rest && *rest == '.')
		rest = read_ms(rest, &ms);
	if (!rest || !read_zone(rest, &ahead_s))
		return false;
	seconds = timegm(&parts) - ahead_s;
	if (seconds < 0)
		return false;
	*ret_ms = (uint64_t)seconds * 1000 + ms;
	return true;
}
