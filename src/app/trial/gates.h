/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of a sandbox: which there are, and whether they hold. */
#ifndef APP_GATES_H
#define APP_GATES_H

#include "app/run/run_request.h"

/*
 * Gates and tests of the profile that sandbox NAME was made with (its name, or NAME@SNAP). ERROR_LIBRARIES in the hot
 * program when a file has to be read for that.
 */
int app_gates_of(const char *name, struct strv *ret_gates, struct strv *ret_tests,
		 struct error *err);

/* Whether all of these are expressions: asked before anything else, a syntax error is reported first. */
int app_gates_check_words(const struct strv *exprs, struct error *err);

struct app_gates {
	const char *sandbox; /* NAME, or NAME@SNAP: its files as they were then */
	const struct strv *exprs;
	const struct strv *tests; /* what tests==pass means; NULL or empty: that is an error then */
	bool tests_known, tests_passed; /* they ran already: what came of them */
	const char *const *environ;	/* of the caller, for the commands */
	const char *fork_name; /* of the copy a command runs in, for the clean-up; NULL: any */
	uint64_t time_ms;      /* for each command; 0: as the sandbox has it */
	const char *owner;     /* as in a request */
	uint64_t owner_bytes;
};

/*
 * Checks them in order, all of them: {verdict, gates: [{expr, holds, evidence}]}; the verdict goes to the history. An
 * expression that is none is ERROR_USAGE before any is checked. Only in the program with libraries.
 */
int app_gate_check(const struct app_gates *gates, struct value **ret_answer, bool *ret_pass,
		   struct error *err);

/*
 * Before commits of SANDBOX (NAME, or NAME@SNAP) are promoted that were checked, or are asked about: ERROR_CONFLICT while
 * tracked files in it differ from the tip of its branch. Only in the program with libraries.
 */
int app_commits_check(const char *sandbox, const char *const *environ, struct error *err);

#endif
