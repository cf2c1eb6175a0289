/* SPDX-License-Identifier: Apache-2.0 */
/* `gc`: housekeeping after runs that were killed, and of what is kept no longer than its bounds. */
#include "app/config/own_config.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/record/log_room.h"
#include "app/sandbox/gc_kept.h"
#include "app/serve/served.h"
#include "ops/rows/rows.h"

#define AGE_MS (INT64_C(90) * 24 * 3600 * 1000)
#define RUNS_KEPT 1000000

/* The flags, else the user's configuration, else the usual. */
static int read_bounds(struct op_call *call, struct history_bounds *ret_bounds, struct error *err)
{
	const char *age = op_arg_text(call, "age"), *logs = op_arg_text(call, "logs");
	owned(own_config_done) struct own_config config;
	int64_t age_ms, log_bytes = (int64_t)LOG_BYTES_MAX;

	if (own_config_read(call->environ, &config, err) < 0)
		return -1;
	age_ms = config.runs_ms ? config.runs_ms : AGE_MS;
	if ((age && units_duration("--age", age, &age_ms, err) < 0) ||
	    (logs && units_size("--logs", logs, &log_bytes, err) < 0))
		return -1;
	*ret_bounds = (struct history_bounds){ .age_ms = (uint64_t)age_ms,
					       .rows = RUNS_KEPT,
					       .log_bytes = (uint64_t)log_bytes,
					       .log_count = LOG_COUNT_MAX,
					       .log_age_ms = (uint64_t)config.logs_ms,
					       .is_dry = op_arg_switch(call, "dry-run") };
	return 0;
}

static void remove_served(struct value *answer)
{
	owned(strv_done) struct strv removed = STRV_INIT;

	served_sweep(&removed);
	for (size_t i = 0; i < removed.count; i++) {
		struct value *row = value_append(answer, value_new_map());

		value_set(row, "kind", value_new_text("sandbox"));
		value_set(row, "path", value_new_text(removed.items[i]));
		value_set(row, "detail", value_new_text("its server is gone"));
	}
}

int op_gc_run(struct op_call *call, struct error *err)
{
	struct history_bounds bounds;

	if (op_want_words(call, 0, 0, err) < 0 || read_bounds(call, &bounds, err) < 0)
		return -1;
	if (bounds.is_dry) {
		call->answer = value_new_list();
		if (app_gc_history(&bounds, call->answer, err) < 0)
			return -1;
		if (call->answer->many.count == 0)
			str_add(&call->text, "nothing of the record would go\n");
		return 0;
	}
	if (app_gc(&call->answer, err) < 0)
		return -1;
	remove_served(call->answer);
	if (app_gc_kept(&bounds, op_arg_switch(call, "caches"), call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing was left behind\n");
	return 0;
}
