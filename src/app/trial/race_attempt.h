/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt of a race, in a process of its own. Private to app. */
#ifndef APP_RACE_ATTEMPT_H
#define APP_RACE_ATTEMPT_H

#include "app/trial/race.h"

struct attempt_names {
	char *sandbox; /* RACE.NAME */
	char *check;   /* the throw-away fork its check runs in */
};

/* The sandbox: a fork of the base, or a fresh clone of the workspace. */
int attempt_make(const struct app_race *race, const struct race_attempt *attempt,
		 const struct attempt_names *names, struct error *err);

/*
 * Runs setup, command and check there, and writes what came of it to REPORT_FD as one JSON object: {run, check, score,
 * error}. Never returns.
 */
_Noreturn void attempt_main(const struct app_race *race, const struct race_attempt *attempt,
			    const struct attempt_names *names, int report_fd);

#endif
