/* Moments read from text; apart from the clocks, which the hot path needs without this. */
#include "base/clock.h"

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

bool time_parse_utc(const char *text, uint64_t *ret_ms)
{
	struct tm parts = { .tm_sec = 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &parts);
	uint64_t ms = 0;
	time_t seconds;

	if (rest && *rest == 'T')
		rest = strptime(rest, "T%H:%M:%S", &parts);
	if (rest && *rest == '.')
		rest = read_ms(rest, &ms);
	if (!rest || (*rest && (*rest != 'Z' || rest[1])))
		return false;
	seconds = timegm(&parts);
	if (seconds < 0)
		return false;
	*ret_ms = (uint64_t)seconds * 1000 + ms;
	return true;
}
