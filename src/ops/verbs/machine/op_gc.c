/* SPDX-License-Identifier: Apache-2.0 */
/* `gc`: housekeeping after runs that were killed, and of what is kept no longer than its bounds. */
#include "app/archive/janitor.h"
#include "app/archive/place.h"
#include "app/config/own_config.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/record/log_room.h"
#include "app/sandbox/gc_kept.h"
#include "app/serve/served.h"
#include "ops/rows/rows.h"

#define AGE_MS (INT64_C(90) * 24 * 3600 * 1000)
#define RUNS_KEPT 1000000

/* Ages that the user's configuration has for workspaces. */
static struct history_rule *read_rules(const struct own_config *config)
{
	struct history_rule *rules = xcalloc(config->below_count + 1, sizeof(*rules));

	for (size_t i = 0; i < config->below_count; i++) {
		const struct own_kept_below *below = &config->below[i];

		rules[i] = (struct history_rule){ below->path, below->runs.ms, below->logs.ms };
	}
	return rules;
}

/* The flags, else the user's configuration, else the usual. */
static int read_bounds(struct op_call *call, const struct own_config *config,
		       struct janitor_wish *ret_wish, struct error *err)
{
	const char *age = op_arg_text(call, "age"), *logs = op_arg_text(call, "logs");
	int64_t age_ms = config->runs.ms ? config->runs.ms : AGE_MS;
	int64_t log_bytes = config->logs.bytes ? config->logs.bytes : (int64_t)LOG_BYTES_MAX;

	if ((age && units_duration("--age", age, &age_ms, err) < 0) ||
	    (logs && units_size("--logs", logs, &log_bytes, err) < 0) ||
	    (config->archive && archive_place_check(config->archive, err) < 0))
		return -1;
	*ret_wish = (struct janitor_wish){
		.history = { .age_ms = (uint64_t)age_ms,
			     .rows = RUNS_KEPT,
			     .log_bytes = (uint64_t)log_bytes,
			     .log_count = LOG_COUNT_MAX,
			     .log_age_ms = (uint64_t)config->logs.ms,
			     .rule_count = config->below_count },
		.archive = config->archive,
		.is_dry = op_arg_switch(call, "dry-run"),
		.environ = (char *const *)(uintptr_t)call->environ,
	};
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
	owned(own_config_done) struct own_config config = { 0 };
	owned(free_ptr) struct history_rule *rules = NULL;
	struct janitor_wish wish;

	if (op_want_words(call, 0, 0, err) < 0 ||
	    own_config_read(call->environ, &config, err) < 0 ||
	    read_bounds(call, &config, &wish, err) < 0)
		return -1;
	rules = read_rules(&config);
	wish.history.rules = rules;
	if (wish.is_dry) {
		call->answer = value_new_list();
	} else {
		if (app_gc(&call->answer, err) < 0)
			return -1;
		remove_served(call->answer);
		if (app_gc_kept(op_arg_switch(call, "caches"), call->answer, err) < 0)
			return -1;
	}
	if (app_retain(&wish, call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text, wish.is_dry ? "nothing of the record would go\n"
						 : "nothing was left behind\n");
	return 0;
}
