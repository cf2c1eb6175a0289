/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as text, and back; what is none. */
#include "tests/tap.h"

#include "base/core/clock.h"

#include <stdint.h>

static void test_times(void)
{
	static const struct {
		uint64_t ms;
		const char *want;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ UINT64_C(951782399999), "2000-02-28T23:59:59.999Z" },
		{ UINT64_C(951782400000), "2000-02-29T00:00:00.000Z" },
		{ UINT64_C(951868800001), "2000-03-01T00:00:00.001Z" },
		{ UINT64_C(1735689599000), "2024-12-31T23:59:59.000Z" },
		{ UINT64_C(4107542400000), "2100-03-01T00:00:00.000Z" },
		{ UINT64_C(253402300799999), "9999-12-31T23:59:59.999Z" },
	};
	static const char *const wrong[] = { "",
					     "2026",
					     "2026-13-01",
					     "2026-11-15T",
					     "2026-11-15 08:00:00",
					     "2026-11-15T08:00:00.Z",
					     "2026-11-15T08:00:00ZZ",
					     "2026-11-15T08:00:00+",
					     "2026-11-15T08:00:00+0100",
					     "2026-11-15T08:00:00+24:00",
					     "1969-12-31",
					     "+2026-11-15",
					     "-2026-11-15",
					     " 2026-11-15",
					     "2026- 1-15",
					     "2026-+1-15",
					     "2026-11-15T +8:00:00",
					     "2026-11-15T08:00:-1",
					     "2026-00-15",
					     "2026-11-00",
					     "2026-11-32",
					     "20261-11-15",
					     "2026-11-15T24:00:00",
					     "2026-11-15T08:60:00",
					     "2026-11-15T08:00:61" };
	char text[32];
	uint64_t ms;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		time_format_utc(rows[i].ms, text);
		tap_is_str(text, rows[i].want, "%s", rows[i].want);
		tap_ok(time_parse_utc(text, &ms) && ms == rows[i].ms, "and back");
	}
	tap_ok(time_parse_utc("2000-02-29", &ms) && ms == UINT64_C(951782400000) &&
		       time_parse_utc("2000-02-28T23:59:59", &ms) && ms == UINT64_C(951782399000),
	       "parts may be missing");
	tap_ok(time_parse_utc("2000-02-29T01:30:00.5+01:30", &ms) && ms == UINT64_C(951782400500) &&
		       time_parse_utc("2000-02-28T23:00:00-01:00", &ms) &&
		       ms == UINT64_C(951782400000),
	       "another zone may be named");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		tap_ok(!time_parse_utc(wrong[i], &ms), "no moment: '%s'", wrong[i]);
	time_format_utc(UINT64_MAX, text);
	tap_is_int((long long)strlen(text), 24, "no time is too long: %s", text);
}

int main(void)
{
	test_times();
	return tap_done();
}
