/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `bench` share: the scratch directory, starting commands, keeping findings. */
#ifndef APP_BENCH_PARTS_H
#define APP_BENCH_PARTS_H

#include "app/doctor/bench.h"

/* Descriptor number under which attacks find a directory of this machine, left open on purpose. */
#define BENCH_LEFT_OPEN 9

struct bench {
	const struct bench_options *options;
	char *program;
	char *dir;     /* scratch: work/ and outside/ */
	char *work;    /* the workspace, and every command's directory */
	char *outside; /* beside it: what no sandbox should change */
	char *secret;  /* a file in HOME no sandbox should read; NULL: HOME is not writable */
	struct value *starts, *builds, *checks;
	int64_t held, broken, skipped;
};

struct bench_done {
	struct str out, err; /* the first mebibyte of each */
	int exit_code;	     /* 128+N for signal N */
	double ms;
	bool timed_out; /* killed by us */
};

/* Starts ARGV in the workspace and waits, at most two minutes. -1 only when it cannot be started. */
int bench_exec(const struct bench *bench, char *const *argv, struct bench_done *ret_done,
	       struct error *err);
void bench_done_release(struct bench_done *done);

/* Whether NAME can be started from the caller's PATH. */
bool bench_has_tool(const struct bench *bench, const char *name);

void bench_progress(const struct bench *bench, const char *what);
/* Keeps a finding of GROUP; STATE is held, broken or skipped. */
void bench_check(struct bench *bench, const char *group, const char *name, const char *state,
		 const char *detail);

/* A number as people want to read it: three decimals. */
struct value *bench_real(double number);

/* The value at SHARE (0 to 1) of COUNT numbers, which are sorted in place. */
double bench_percentile(double *numbers, size_t count, double share);

int bench_starts(struct bench *bench, struct error *err);
int bench_builds(struct bench *bench, struct error *err);
int bench_limits(struct bench *bench, struct error *err);
int bench_walls(struct bench *bench, struct error *err);

#endif
