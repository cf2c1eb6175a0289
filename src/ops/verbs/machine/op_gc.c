/* SPDX-License-Identifier: Apache-2.0 */
/* `gc`: housekeeping after runs that were killed, and of what is kept no longer than its bounds. */
#include "base/text/units.h"
#include "app/record/log_room.h"
#include "app/sandbox/gc_kept.h"
#include "ops/rows/rows.h"

#define AGE_MS (INT64_C(90) * 24 * 3600 * 1000)
#define RUNS_KEPT 1000000

int op_gc_run(struct op_call *call, struct error *err)
{
	const char *age = op_arg_text(call, "age"), *logs = op_arg_text(call, "logs");
	int64_t age_ms = AGE_MS, log_bytes = (int64_t)LOG_BYTES_MAX;

	if (op_want_words(call, 0, 0, err) < 0)
		return -1;
	if ((age && units_duration("--age", age, &age_ms, err) < 0) ||
	    (logs && units_size("--logs", logs, &log_bytes, err) < 0))
		return -1;
	const struct history_bounds bounds = { .age_ms = (uint64_t)age_ms,
					       .rows = RUNS_KEPT,
					       .log_bytes = (uint64_t)log_bytes,
					       .log_count = LOG_COUNT_MAX };

	if (engine_gc(&call->answer, err) < 0 ||
	    engine_gc_kept(&bounds, op_arg_switch(call, "caches"), call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing was left behind\n");
	return 0;
}
