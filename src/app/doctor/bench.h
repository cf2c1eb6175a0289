/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bench`: the playbook an evaluator would run, on this machine.
 *
 * Everything is measured from outside, by starting the installed program as any user would, so that no figure depends on
 * knowing its inside. Each attack is first seen to work outside: one that fails there proves nothing.
 */
#ifndef APP_BENCH_H
#define APP_BENCH_H

#include "base/core/error.h"
#include "base/core/value.h"

#include <stdbool.h>

struct bench_options {
	const char *program; /* path of aisbx; NULL: the one this process belongs to */
	unsigned starts;     /* of each kind */
	unsigned builds;     /* of each language, inside and outside */
	const char *const *environ;
	void (*progress)(const char *what); /* called with what is under way; may be NULL */
};

/*
 * The answer: {starts:[{name, pause_ms, p50_ms, p95_ms, net_ms, ratio_to_bwrap, starts}],
 * builds:[{name, state, outside_ms, inside_ms, ratio, detail}], checks:[{group, name, state, detail}],
 * held, broken, skipped}. States are held, broken, measured, skipped; whatever is skipped has a reason
 * in `detail`.
 */
int app_bench(const struct bench_options *options, struct value **ret_answer, struct error *err);

#endif
