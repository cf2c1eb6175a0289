/* SPDX-License-Identifier: Apache-2.0 */
/* Races run: every attempt in a sandbox of its own, several at a time, compared. Only in the program with libraries. */
#ifndef APP_RACE_H
#define APP_RACE_H

#include "base/core/value.h"
#include "app/run/run_request.h"
#include "decide/race/race.h"

struct app_race {
	const struct race_plan *plan;
	const struct request
		*request;    /* workspace, profile, flags and environment of every attempt */
	unsigned jobs;	     /* at a time; 0: one per processor */
	bool first;	     /* ends the others as soon as one passes */
	const char *promote; /* strategy to promote the winner with; NULL: it is not */
	bool ignored;	     /* also what git ignores */
	bool uses_daemon;    /* attempts wait for a place where a daemon bounds how many run */
	bool commits;	     /* instead of files, the commits of its branch */
	/* Called whenever something changed: how many of all have ended, and the last one's name and status. May be NULL. */
	void (*progress)(size_t ended, size_t count, const char *name, const char *status,
			 void *cookie);
	void *cookie;
};

/*
 * Runs the race to its end. The answer is the race object of cli.md; attempts stay as sandboxes RACE.NAME for 24 hours.
 * A signal (SIGINT, SIGTERM, SIGHUP) ends every attempt and removes all of them: ERROR_HOST with EINTR.
 */
int app_race(const struct app_race *race, struct value **ret_answer, struct error *err);

/* How two attempts of a race differ: a unified diff from A to B. */
int app_race_diff(const char *race_id, const char *a, const char *b, struct str *ret_text,
		  bool *ret_differs, struct error *err);

#endif
