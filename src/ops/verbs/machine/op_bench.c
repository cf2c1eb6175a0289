/* SPDX-License-Identifier: Apache-2.0 */
/* `bench`: figures of this machine, as a table for people and an object for programs. */
#include "app/doctor/bench.h"

#include "base/core/own.h"
#include "ops/rows/rows.h"

#include <errno.h>
#include <string.h>

#define STARTS 200
#define BUILDS 5
#define STARTS_MAX 100000

static double real_of(const struct value *row, const char *key)
{
	const struct value *value = value_get(row, key);

	return value && value->kind == VALUE_REAL ? value->real : 0;
}

static void add_starts(struct str *out, const struct value *rows)
{
	str_addf(out, "%-38s %9s %9s %9s %9s\n", "STARTING /bin/true", "P50 ms", "P95 ms", "NET ms",
		 "TO BWRAP");
	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];
		owned(free_ptr) char *name = NULL;
		int64_t pause_ms = 0;

		value_get_int(row, "pause_ms", &pause_ms);
		name = xasprintf("%s%s", value_get_text(row, "name"),
				 pause_ms ? ", 50 ms rest before each" : "");
		str_addf(out, "%-38s %9.2f %9.2f %9.2f", name, real_of(row, "p50_ms"),
			 real_of(row, "p95_ms"), real_of(row, "net_ms"));
		if (value_get(row, "ratio_to_bwrap")->kind == VALUE_REAL)
			str_addf(out, " %9.2f", real_of(row, "ratio_to_bwrap"));
		str_add_char(out, '\n');
	}
}

static void add_builds(struct str *out, const struct value *rows)
{
	str_addf(out, "\n%-38s %9s %9s %9s\n", "BUILDING", "OUT ms", "IN ms", "RATIO");
	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];
		const char *detail = value_get_text(row, "detail");

		if (detail)
			str_addf(out, "%-38s %s: %s\n", value_get_text(row, "name"),
				 value_get_text(row, "state"), detail);
		else
			str_addf(out, "%-38s %9.0f %9.0f %9.2f\n", value_get_text(row, "name"),
				 real_of(row, "outside_ms"), real_of(row, "inside_ms"),
				 real_of(row, "ratio"));
	}
}

static void add_heading(struct str *out, const char *group)
{
	str_add_char(out, '\n');
	for (const char *at = group; *at; at++)
		str_add_char(out, *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at);
	str_addf(out, "%*s STATE\n", 44 - (int)strlen(group), "");
}

static void add_checks(struct str *out, const struct value *rows)
{
	const char *group = "";

	for (size_t i = 0; i < rows->many.count; i++) {
		const struct value *row = rows->many.items[i];

		if (strcmp(group, value_get_text(row, "group")) != 0) {
			group = value_get_text(row, "group");
			add_heading(out, group);
		}
		str_addf(out, "%-44s %-8s %s\n", value_get_text(row, "name"),
			 value_get_text(row, "state"), value_get_text(row, "detail"));
	}
}

static int read_starts(const struct op_call *call, unsigned *ret_starts, struct error *err)
{
	const char *text = op_arg_text(call, "runs");
	char *end;
	long number;

	if (!text) {
		*ret_starts = op_arg_switch(call, "quick") ? STARTS / 10 : STARTS;
		return 0;
	}
	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < 1 || number > STARTS_MAX)
		return error_set(err, ERROR_USAGE, "--runs %s: a whole number from 1 to %d", text,
				 STARTS_MAX);
	*ret_starts = (unsigned)number;
	return 0;
}

int op_bench_run(struct op_call *call, struct error *err)
{
	struct bench_options options = {
		.builds = op_arg_switch(call, "quick") ? 2 : BUILDS,
		.environ = call->environ,
		.progress = call->progress,
	};
	int64_t held = 0, broken = 0, skipped = 0;

	if (op_want_words(call, 0, 0, err) < 0 || read_starts(call, &options.starts, err) < 0 ||
	    app_bench(&options, &call->answer, err) < 0)
		return -1;
	value_get_int(call->answer, "held", &held);
	value_get_int(call->answer, "broken", &broken);
	value_get_int(call->answer, "skipped", &skipped);
	call->exit_status = broken > 0;
	if (call->json)
		return 0;
	add_starts(&call->text, value_get(call->answer, "starts"));
	add_builds(&call->text, value_get(call->answer, "builds"));
	add_checks(&call->text, value_get(call->answer, "checks"));
	str_addf(&call->text, "\n%lld held, %lld broken, %lld skipped\n", (long long)held,
		 (long long)broken, (long long)skipped);
	return 0;
}
