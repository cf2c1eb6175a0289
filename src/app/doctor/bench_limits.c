/* SPDX-License-Identifier: Apache-2.0 */
/* Limits for `bench`: commands that want more than they may; were they held, and was it reported. */
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "app/doctor/bench_parts.h"

#include <string.h>

struct limit {
	const char *name; /* as in limits_hit */
	const char *flag; /* with its value */
	const char *value;
	const char *words;
	/* Bounded by itself: were the limit not there, it would still end without harm. */
	const char *script;
	double most_ms; /* a limit that holds ends the command before this */
};

static const struct limit limits[] = {
	{ "mem", "--mem", "64m", "memory: 500 MB wanted, 64 MiB allowed",
	  "head -c 600000000 /dev/zero | tail -c 500000000 >/dev/null", 30000 },
	{ "pids", "--pids", "32", "processes: 120 wanted, 32 allowed",
	  "i=0; while [ $i -lt 120 ]; do sleep 4 & i=$((i+1)); done; wait", 30000 },
	{ "disk", "--disk", "16m", "disk: 64 MiB written, 16 MiB allowed",
	  "head -c 67108864 /dev/zero >fill", 30000 },
	{ "fsize", "--fsize", "1m", "file size: 8 MiB written, 1 MiB allowed",
	  "head -c 8388608 /dev/zero >big", 30000 },
	{ "time", "--time", "1s", "wall clock: 20 s wanted, 1 s allowed", "sleep 20", 5000 },
	{ "cpu-time", "--cpu-time", "1s", "CPU time: 10 s wanted, 1 s allowed",
	  "end=$(($(date +%s) + 10)); while [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt 20000 "
	  "]; do i=$((i+1)); done; done",
	  8000 },
	{ "output", "--output", "64k", "output: 8 MiB written, 64 KiB kept",
	  "head -c 8388608 /dev/zero | tr '\\0' x", 30000 },
};

static bool list_has(const struct value *list, const char *word)
{
	for (size_t i = 0; list && list->kind == VALUE_LIST && i < list->many.count; i++) {
		const struct value *item = list->many.items[i];

		if (item->kind == VALUE_TEXT && strcmp(item->text.bytes, word) == 0)
			return true;
	}
	return false;
}

/* Held means: stopped or refused in time, and reported. */
static bool held(const struct limit *limit, const struct value *result, double ms)
{
	const char *status = value_get_text(result, "status");
	const struct value *truncated = value_get(result, "truncated");
	int64_t exit_code = 0;

	if (ms > limit->most_ms || !status)
		return false;
	if (strcmp(limit->name, "output") == 0)
		return truncated && truncated->kind == VALUE_BOOL && truncated->truth;
	value_get_int(result, "exit_code", &exit_code);
	/* The kernel stops such a write by itself; the command sees the signal or the error. */
	if (strcmp(limit->name, "fsize") == 0)
		return exit_code != 0;
	return list_has(value_get(result, "limits_hit"), limit->name);
}

static int try_limit(struct bench *bench, const struct limit *limit, struct error *err)
{
	const char *const words[] = { bench->program, "run", "--json",	limit->flag,
				      limit->value,   "--",  "/bin/sh", "-c",
				      limit->script,  NULL };
	owned(strv_done) struct strv argv = STRV_INIT;
	owned(bench_done_release) struct bench_done done = { .out = STR_INIT, .err = STR_INIT };
	owned(value_release) struct value *result = NULL;
	owned(free_ptr) char *detail = NULL;
	struct error unread;
	bool good;

	for (size_t i = 0; words[i]; i++)
		strv_add(&argv, words[i]);
	if (bench_exec(bench, argv.items, &done, err) < 0)
		return -1;
	if (json_read(str_cstr(&done.out), done.out.len, NULL, &result, &unread) < 0) {
		detail = xasprintf("no result: %.200s", str_cstr(&done.err));
		bench_check(bench, "limits", limit->words, "broken", detail);
		return 0;
	}
	good = held(limit, result, done.ms);
	detail = xasprintf("status %s after %.2f s", value_get_text(result, "status"),
			   done.ms / 1e3);
	bench_check(bench, "limits", limit->words, good ? "held" : "broken", detail);
	return 0;
}

int bench_limits(struct bench *bench, struct error *err)
{
	bench_progress(bench, "limits");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		bench_progress(bench, limits[i].words);
		if (try_limit(bench, &limits[i], err) < 0)
			return -1;
	}
	return 0;
}
