/* SPDX-License-Identifier: Apache-2.0 */
/* `history`: what ran, newest first. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/record/fleet.h"
#include "app/record/history.h"
#include "ops/rows/rows.h"
#include "ops/text/since.h"
#include "ops/text/words.h"

#include <stdint.h>

#define ROWS_DEFAULT 100
#define COMMAND_MAX 80

static int read_filter(const struct op_call *call, struct history_filter *filter, struct error *err)
{
	const char *count = op_arg_text(call, "count");
	int64_t limit = ROWS_DEFAULT;

	*filter = (struct history_filter){ .status = op_arg_text(call, "status"),
					   .sandbox = op_arg_text(call, "sandbox"),
					   .trace_id = op_arg_text(call, "trace"),
					   .text = op_arg_text(call, "text"),
					   .before = op_arg_text(call, "before") };
	if (count && units_count("-n", count, 1, INT64_MAX, &limit, err) < 0)
		return -1;
	filter->owner = op_sees(call);
	filter->limit = (uint64_t)limit;
	return since_read(op_arg_text(call, "since"), &filter->since_ms, err);
}

/* What a server sent may lack anything. */
static const char *shown(const struct value *run, const char *key)
{
	const char *text = value_get_text(run, key);

	return text ? text : "-";
}

static void add_row(struct strv *cells, const struct value *run, bool is_fleet)
{
	owned(str_done) struct str age = STR_INIT, command = STR_INIT;
	const struct value *exit_code = value_get(run, "exit_code");
	const struct value *duration = value_get(run, "duration_ms");

	words_add_age(&age, words_moment(run, "started"));
	strv_add(cells, shown(run, "run_id"));
	strv_add(cells, str_cstr(&age));
	strv_add(cells, shown(run, "status"));
	if (exit_code->kind == VALUE_INT)
		strv_addf(cells, "%lld", (long long)exit_code->integer);
	else
		strv_add(cells, "-");
	if (duration->kind == VALUE_REAL)
		strv_addf(cells, "%.0f ms", duration->real);
	else
		strv_add(cells, "-");
	strv_add(cells, shown(run, "sandbox"));
	if (is_fleet)
		strv_add(cells, shown(run, "host"));
	words_add_command(&command, value_get(run, "command"), COMMAND_MAX);
	strv_add(cells, str_cstr(&command));
}

static void write_table(struct op_call *call)
{
	static const char *const titles[] = { "RUN",  "WHEN",	 "STATUS", "EXIT",
					      "TOOK", "SANDBOX", "HOST",   "COMMAND" };
	const size_t columns = sizeof(titles) / sizeof(titles[0]);
	bool is_fleet = op_arg_text(call, "from") != NULL;
	owned(strv_done) struct strv cells = STRV_INIT;

	for (size_t i = 0; i < columns; i++) {
		if (is_fleet || i != columns - 2)
			strv_add(&cells, titles[i]);
	}
	for (size_t i = 0; i < call->answer->many.count; i++)
		add_row(&cells, call->answer->many.items[i], is_fleet);
	words_add_table(&call->text, &cells, is_fleet ? columns : columns - 1);
}

static int list_runs(struct op_call *call, const struct history_filter *filter, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(pg_release) struct pg *pg = NULL;
	const char *url = op_arg_text(call, "from");

	if (url)
		return pg_open(url, &pg, err) < 0 ? -1 : fleet_list(pg, filter, &call->answer, err);
	return app_history(&history, err) < 0 ? -1
					      : history_list(history, filter, &call->answer, err);
}

int op_history_run(struct op_call *call, struct error *err)
{
	struct history_filter filter;

	if (op_want_words(call, 0, 0, err) < 0 || read_filter(call, &filter, err) < 0 ||
	    list_runs(call, &filter, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text, "no such run yet\n");
	else if (!call->json)
		write_table(call);
	return 0;
}
