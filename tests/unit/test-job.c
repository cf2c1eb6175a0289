/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: what their files may say, which paths a pattern means, and when they are due through changes of the clock. */
#include "decide/job/job.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_MS (UINT64_C(86400) * 1000)

static bool reads(const char *text, const char *want)
{
	owned(job_done) struct job job;
	struct error err = { 0 };
	bool is_read;

	job_init(&job);
	is_read = job_read(text, strlen(text), "j.yaml", &job, &err) == 0;
	if (!is_read && want && !strstr(err.text, want))
		tap_ok(false, "'%s' in '%s'", want, err.text);
	return is_read;
}

static void test_files(void)
{
	static const struct {
		const char *text, *want;
	} bad[] = {
		{ "every: 15m\n", "one of: command" },
		{ "[]", "a map" },
		{ "script: x\nrace: r.yaml\n", "one of: command" },
		{ "script: x\nevery: 1ms\n", "j.yaml:2" },
		{ "script: x\nevery: soon\n", "j.yaml:2" },
		{ "script: x\nat: \"24:00\"\n", "time of the day" },
		{ "script: x\nat: \"3:00\"\n", "time of the day" },
		{ "script: x\nat: \"03:60\"\n", "time of the day" },
		{ "script: x\nat: \"03:000\"\n", "time of the day" },
		{ "script: x\nquiet: \"22:00\"\n", "stretch" },
		{ "script: x\nquiet: \"22:00-22:00\"\n", "stretch" },
		{ "script: x\non_change: /etc/**\n", "patterns of paths" },
		{ "script: x\non_change: ../x\n", "patterns of paths" },
		{ "script: x\ninputs: [a/../../b]\n", "patterns of paths" },
		{ "script: x\ninputs: []\n", "patterns of paths" },
		{ "script: x\non_commit: --upload-pack=x\n", "a branch" },
		{ "script: x\non_commit: \"main@{1}\"\n", "a branch" },
		{ "script: x\npromote: always\n", "never, ask or gates" },
		{ "script: x\npromote: gates\n", "needs gates" },
		{ "script: x\npromote: gates\ngates: []\n", "needs gates" },
		{ "script: x\nbudget: {runs_per_hours: 4}\n", "did you mean 'runs_per_hour'" },
		{ "script: x\nbudget: {runs_per_hour: 0}\n", "j.yaml:2" },
		{ "script: x\nbudget: 4\n", "a map" },
		{ "script: x\non_failure: explode\n", "keep, pause or retry" },
		{ "script: x\nname: ../x\n", "a job's name" },
		{ "task: t.json\nmem: 1g\n", "task's own file" },
		{ "script: x\non_run_failed: sometimes\n", "is true" },
		{ "script: &a x\n", NULL },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(!reads(bad[i].text, bad[i].want), "refused, because: %s",
		       bad[i].want ? bad[i].want : "anchors");
	tap_ok(reads("every: 15m\nat: \"03:00\"\non_change: [src/**, \"*.c\"]\non_commit: main\n"
		     "on_run_failed:\ncommand: [make, test]\ngates: [\"tests==pass\"]\n"
		     "promote: gates\nbudget: {runs_per_hour: 4, cpu_minutes_per_day: 30}\n"
		     "quiet: \"22:00-06:00\"\non_failure: [keep, pause]\nmem: 512m\n",
		     NULL),
	       "all keys together");
}

static void test_patterns(void)
{
	static const struct {
		const char *pattern, *path;
		bool matches;
	} rows[] = {
		{ "src/**", "src/a.c", true },
		{ "src/**", "src/x/y/a.c", true },
		{ "src/**", "srcs/a.c", false },
		{ "**/*.c", "a.c", true },
		{ "**/*.c", "x/y/a.c", true },
		{ "src/**/*.c", "src/a.c", true },
		{ "src/**/*.c", "src/x/a.c", true },
		{ "*.c", "x/a.c", false },
		{ "*.c", "a.c", true },
		{ "src", "src/x/a.c", true },
		{ "Makefile", "Makefile", true },
		{ "Makefile", "x/Makefile", false },
	};
	static const char *const roots[][2] = { { "src/**", "src" }, { "**/*.c", "." },
						{ "*.c", "." },	     { "a/b/c*.h", "a/b" },
						{ "a/b", "a/b" },    { "a/", "a" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_ok(job_pattern_matches(rows[i].pattern, rows[i].path) == rows[i].matches,
		       "%s %s %s", rows[i].pattern, rows[i].matches ? "means" : "does not mean",
		       rows[i].path);
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		owned(free_ptr) char *root = job_pattern_root(roots[i][0]);

		tap_is_str(root, roots[i][1], "all of %s lies below", roots[i][0]);
	}
}

static uint64_t utc(const char *text)
{
	uint64_t ms = 0;

	if (!time_parse_utc(text, &ms))
		tap_ok(false, "%s is a time", text);
	return ms;
}

static void in_zone(const char *zone)
{
	(void)setenv("TZ", zone, 1);
	tzset();
}

/* The moments of WANT (ended by NULL) are all at which a job of AT runs between the first and the last of them. */
static void test_at(const char *zone, int minute, const char *const *want)
{
	struct job job;
	uint64_t now_ms = utc(want[0]) - 1000;
	int64_t taken;

	job_init(&job);
	job.at_minute = minute;
	in_zone(zone);
	taken = job_slot(&job, JOB_AT, 0, now_ms);
	for (; *want; want++) {
		uint64_t next_ms = job_slot_begins(&job, JOB_AT, 0, taken + 1);
		char shown[32];

		time_format_utc(next_ms, shown);
		tap_is_str(shown, *want, "%s %02d:%02d", zone, minute / 60, minute % 60);
		taken = job_slot(&job, JOB_AT, 0, next_ms);
		/* As a scheduler sees it that looks every minute: no slot begins before its time, none a second time. */
		uint64_t end_ms = job_slot_begins(&job, JOB_AT, 0, taken + 1);
		bool is_once = true;

		for (now_ms = next_ms; now_ms < end_ms; now_ms += 60000)
			is_once &= job_slot(&job, JOB_AT, 0, now_ms) <= taken;
		tap_ok(is_once, "and not again until the next");
	}
}

static void test_zones(void)
{
	static const char *const berlin_gap[] = { "2026-03-28T01:30:00.000Z",
						  "2026-03-29T01:00:00.000Z",
						  "2026-03-30T00:30:00.000Z", NULL };
	static const char *const berlin_twice[] = { "2026-10-24T00:30:00.000Z",
						    "2026-10-25T00:30:00.000Z",
						    "2026-10-26T01:30:00.000Z", NULL };
	static const char *const york[] = { "2026-10-31T05:30:00.000Z", "2026-11-01T05:30:00.000Z",
					    "2026-11-02T06:30:00.000Z", NULL };
	/* Half an hour. */
	static const char *const howe[] = { "2026-10-02T15:40:00.000Z", "2026-10-03T15:30:00.000Z",
					    "2026-10-04T15:10:00.000Z", NULL };
	/* Midnight itself is left out. */
	static const char *const beirut[] = { "2026-03-27T22:00:00.000Z",
					      "2026-03-28T22:00:00.000Z",
					      "2026-03-29T21:00:00.000Z", NULL };
	/* A whole day was left out: it is made up for when the next one begins. */
	static const char *const apia[] = { "2011-12-29T13:00:00.000Z", "2011-12-30T10:00:00.000Z",
					    "2011-12-30T13:00:00.000Z", NULL };
	static const char *const nowhere[] = { "2026-06-01T02:30:00.000Z",
					       "2026-06-02T02:30:00.000Z", NULL };

	test_at("CET-1CEST,M3.5.0,M10.5.0/3", 150, berlin_gap);
	test_at("CET-1CEST,M3.5.0,M10.5.0/3", 150, berlin_twice);
	test_at("EST5EDT,M3.2.0,M11.1.0", 90, york);
	test_at("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 130, howe);
	test_at("EET-2EEST,M3.5.0/0,M10.5.0/0", 0, beirut);
	test_at("UTC0", 150, nowhere);
	in_zone("Pacific/Apia");
	if (job_local_day(utc("2011-12-30T11:00:00.000Z")) -
		    job_local_day(utc("2011-12-30T09:00:00.000Z")) ==
	    2)
		test_at("Pacific/Apia", 180, apia);
	else
		tap_skip(3, "Pacific/Apia: no tables of time zones here (tzdata)");
}

static void test_every(void)
{
	struct job job;

	job_init(&job);
	job.every_ms = 900000;
	tap_is_int(job_slot(&job, JOB_EVERY, 1000, 1000), 0, "none has passed when it is added");
	tap_is_int(job_slot(&job, JOB_EVERY, 1000, 901000), 1, "one after its period");
	tap_is_int(job_slot(&job, JOB_EVERY, 1000, 5 * 900000), 4, "as many as have passed");
	tap_is_int(job_slot(&job, JOB_EVERY, 901000, 1000), 0, "none before it was added");
	tap_is_int((int64_t)job_slot_begins(&job, JOB_EVERY, 1000, 2), 1801000, "the second");
}

static void test_quiet(void)
{
	struct job job;

	job_init(&job);
	in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	tap_ok(!job_is_quiet(&job, utc("2026-01-01T00:00:00.000Z")), "no quiet hours");
	job.quiet_from = 22 * 60;
	job.quiet_to = 6 * 60;
	tap_ok(job_is_quiet(&job, utc("2026-01-01T21:00:00.000Z")), "22:00 local");
	tap_ok(!job_is_quiet(&job, utc("2026-01-01T20:59:00.000Z")), "21:59");
	tap_ok(job_is_quiet(&job, utc("2026-07-01T03:59:00.000Z")), "05:59 in summer");
	tap_ok(!job_is_quiet(&job, utc("2026-07-01T04:00:00.000Z")), "06:00 in summer");
	job.quiet_from = 12 * 60;
	job.quiet_to = 13 * 60;
	tap_ok(job_is_quiet(&job, utc("2026-01-01T11:30:00.000Z")), "12:30");
	tap_ok(!job_is_quiet(&job, utc("2026-01-01T12:00:00.000Z")), "13:00");
}

int main(void)
{
	test_files();
	test_patterns();
	test_every();
	test_zones();
	test_quiet();
	return tap_done();
}
