/* SPDX-License-Identifier: Apache-2.0 */
/* --since: a time ago, or a moment. */
#include "ops/text/since.h"

#include "base/core/clock.h"
#include "base/core/str.h"
#include "base/text/units.h"

int since_read(const char *text, uint64_t *ret_ms, struct error *err)
{
	uint64_t now = clock_epoch_ms();
	char shown[STR_SHOWN_SIZE];
	struct error ignored;
	int64_t ago;

	*ret_ms = 0;
	if (!text || time_parse_utc(text, ret_ms))
		return 0;
	if (units_duration("--since", text, &ago, &ignored) < 0)
		return error_advise(
			err, ERROR_USAGE,
			"use 30m, 2h, 7d, or a date such as 2026-11-15 or 2026-11-15T08:00:00",
			"--since: '%s' is no time", str_shown(text, shown));
	*ret_ms = (uint64_t)ago < now ? now - (uint64_t)ago : 0;
	return 0;
}
