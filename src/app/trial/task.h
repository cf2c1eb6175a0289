/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: one JSON object with what to run, what to test and what must hold; one object as the answer. */
#ifndef ENGINE_TASK_H
#define ENGINE_TASK_H

#include "app/run/engine.h"

#define TASK_BYTES_MAX ((size_t)1 << 20)

struct engine_task {
	const char *text;
	size_t len;
	const char *origin;	    /* names the text in errors */
	const char *const *environ; /* the caller's */
	/* As in a request. A program has no say in the workspace, and names one of PROFILES or none. */
	const char *owner;
	uint64_t owner_bytes;
	bool only_narrows;
	const struct strv *profiles; /* NULL: any */
	const char *workspace;	     /* where the text names none; NULL: the caller's */
};

/*
 * Does what the text says (keys: intent, command, script, profile, workspace, tests, gates, env, trace_id and the settings of
 * a run), in a sandbox that stays for a day: {task_id, sandbox, verdict, run, tests, gates}. *ret_pass: it ran, its
 * tests passed and its gates hold.
 */
int engine_task(const struct engine_task *given, struct value **ret_answer, bool *ret_pass,
		struct error *err);

#endif
