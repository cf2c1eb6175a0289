/* SPDX-License-Identifier: Apache-2.0 */
/* Start times of /bin/true for `bench`: plain, through bwrap if installed, through aisbx, in turn. */
#include "base/core/own.h"
#include "app/doctor/bench_parts.h"

#include <string.h>
#include <time.h>

#define KINDS 3
#define REST_MS 50

enum { PLAIN, BWRAP, AISBX };

/* What people use bwrap for: this machine's root, read-only, everything unshared. */
static const char *const bwrap_words[] = { "bwrap", "--unshare-all", "--ro-bind", "/",
					   "/",	    "--proc",	     "/proc",	  "--dev",
					   "/dev",  "--tmpfs",	     "/tmp",	  NULL };

struct kind {
	const char *name;
	struct strv words;
	double *times;
	bool takes_part, is_ours;
};

static void rest(unsigned ms)
{
	struct timespec time = { .tv_nsec = (long)ms * 1000000 };

	if (ms > 0)
		nanosleep(&time, NULL);
}

/* A yardstick that does not work here is left out; our own failure is a finding. */
static int time_once(struct bench *bench, struct kind *kind, unsigned round, struct error *err)
{
	struct bench_done done;

	if (bench_exec(bench, kind->words.items, &done, err) < 0)
		return -1;
	kind->times[round] = done.ms;
	kind->takes_part = done.exit_code == 0;
	if (!kind->takes_part && kind->is_ours)
		error_set(err, ERROR_HOST, "aisbx run -- /bin/true: %s", str_cstr(&done.err));
	bench_done_release(&done);
	return kind->takes_part || !kind->is_ours ? 0 : -1;
}

static void keep(struct bench *bench, struct kind *kinds, unsigned rounds, unsigned pause_ms)
{
	double floor = bench_percentile(kinds[PLAIN].times, rounds, 0.5);
	double yard = bench_percentile(kinds[BWRAP].times, rounds, 0.5) - floor;

	for (int i = 0; i < KINDS; i++) {
		double p50 = bench_percentile(kinds[i].times, rounds, 0.5);
		struct value *row;

		if (!kinds[i].takes_part)
			continue;
		row = value_append(bench->starts, value_new_map());
		value_set(row, "name", value_new_text(kinds[i].name));
		value_set(row, "pause_ms", value_new_int(pause_ms));
		value_set(row, "p50_ms", bench_real(p50));
		value_set(row, "p95_ms",
			  bench_real(bench_percentile(kinds[i].times, rounds, 0.95)));
		value_set(row, "net_ms", bench_real(p50 - floor));
		value_set(row, "ratio_to_bwrap",
			  kinds[BWRAP].takes_part ? bench_real((p50 - floor) / yard)
						  : value_new_null());
		value_set(row, "starts", value_new_int(rounds));
	}
}

static int measure(struct bench *bench, struct kind *kinds, unsigned rounds, unsigned pause_ms,
		   struct error *err)
{
	for (unsigned round = 0; round < rounds; round++) {
		for (int i = 0; i < KINDS; i++) {
			if (!kinds[i].takes_part)
				continue;
			rest(pause_ms);
			if (time_once(bench, &kinds[i], round, err) < 0)
				return -1;
		}
	}
	keep(bench, kinds, rounds, pause_ms);
	return 0;
}

static void name_commands(struct bench *bench, struct kind *kinds)
{
	for (const char *const *word = bwrap_words; *word; word++)
		strv_add(&kinds[BWRAP].words, *word);
	strv_add(&kinds[AISBX].words, bench->program);
	strv_add(&kinds[AISBX].words, "run");
	strv_add(&kinds[AISBX].words, "--");
	for (int i = 0; i < KINDS; i++)
		strv_add(&kinds[i].words, "/bin/true");
}

int bench_starts(struct bench *bench, struct error *err)
{
	unsigned rounds = bench->options->starts;
	owned(free_ptr) double *times = xcalloc((size_t)rounds * KINDS, sizeof(double));
	struct kind kinds[KINDS] = {
		[PLAIN] = { .name = "plain spawn", .takes_part = true },
		[BWRAP] = { .name = "bwrap", .takes_part = bench_has_tool(bench, "bwrap") },
		[AISBX] = { .name = "aisbx run", .takes_part = true, .is_ours = true },
	};
	int outcome;

	for (int i = 0; i < KINDS; i++)
		kinds[i].times = times + (size_t)rounds * (size_t)i;
	name_commands(bench, kinds);
	bench_progress(bench, "start times, one right after the other");
	outcome = measure(bench, kinds, rounds, 0, err);
	if (outcome == 0) {
		bench_progress(bench, "start times, with rests");
		outcome = measure(bench, kinds, rounds / 4 + 1, REST_MS, err);
	}
	for (int i = 0; i < KINDS; i++)
		strv_done(&kinds[i].words);
	return outcome;
}
