/* SPDX-License-Identifier: Apache-2.0 */
/* From a task's end to the result's words: status, exit code, limits hit, notes. */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include "driver/driver.h"
#include "observe/result.h"
#include "run/ending.h"
#include "run/scrub.h"
#include "run/watch.h"
#include "spec/spec.h"

struct verdict_facts {
	const struct task *task;
	const struct spec *spec;
	const struct task_usage *usage;
	enum watch_verdict stopped_by; /* WATCH_GO_ON: it ended by itself */
	const struct ending *ending;   /* signals that the supervisor received, and what it did */
	bool pids_full;
};

/* Fills everything of the result that follows from how the task ended. */
void verdict_fill(const struct verdict_facts *facts, struct run_result *result);

/* Takes secrets out of what the payload itself had a part in naming. */
void verdict_scrub(const struct scrub_words *words, struct denials *denials);

#endif
