/* SPDX-License-Identifier: Apache-2.0 */
/* How much a scan may look at, read and take. */
#include "workspace/delta/bound.h"

#include "base/core/clock.h"

#define ENTRIES_MAX 1000000u
#define COMPARE_MAX (256ull << 20)
#define TIME_MAX_NS 2000000000ull

void bound_start(struct change_scan *scan)
{
	if (!scan->until_ns)
		scan->until_ns = clock_now_ns() + TIME_MAX_NS;
}

bool bound_has_time(struct change_scan *scan)
{
	if (clock_now_ns() < scan->until_ns)
		return true;
	scan->is_partial = true;
	return false;
}

bool bound_entry(struct change_scan *scan)
{
	if (++scan->looked_at > ENTRIES_MAX)
		scan->is_partial = true;
	return scan->looked_at <= ENTRIES_MAX && bound_has_time(scan);
}

bool bound_may_compare(const struct change_scan *scan, uint64_t len)
{
	return scan->compared <= COMPARE_MAX && len <= COMPARE_MAX - scan->compared;
}
