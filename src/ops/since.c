/* --since: a time ago, or a moment. */
#include "ops/since.h"

#include "base/clock.h"
#include "base/str.h"
#include "base/units.h"

#include <string.h>
#include <time.h>

static bool read_moment(const char *text, uint64_t *ret_ms)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm parts = { 0 };
		const char *rest = strptime(text, forms[i], &parts);

		if (rest && !*rest) {
			*ret_ms = (uint64_t)timegm(&parts) * 1000;
			return true;
		}
	}
	return false;
}

int since_read(const char *text, uint64_t *ret_ms, struct error *err)
{
	uint64_t now = clock_epoch_ms();
	char shown[STR_SHOWN_SIZE];
	struct error ignored;
	int64_t ago;

	*ret_ms = 0;
	if (!text || read_moment(text, ret_ms))
		return 0;
	if (units_duration("--since", text, &ago, &ignored) < 0)
		return error_set(err, ERROR_USAGE,
				 "--since: '%s' is no time (use 30m, 2h, 7d, or a date such as "
				 "2026-11-15 or 2026-11-15T08:00:00)",
				 str_shown(text, shown));
	*ret_ms = (uint64_t)ago < now ? now - (uint64_t)ago : 0;
	return 0;
}
