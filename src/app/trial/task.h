/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: one JSON object with what to run, what to test and what must hold; one object as the answer. */
#ifndef APP_TASK_H
#define APP_TASK_H

#include "app/run/run_request.h"

#define TASK_BYTES_MAX ((size_t)1 << 20)

/* What a task says. */
struct task {
	char *intent;
	struct request request;
	struct strv tests, gates;
};

void task_init(struct task *task);
void task_done(struct task *task);

/* Reads the map TREE; ORIGIN names its place in errors. Whether there is something to run is not asked. */
int task_read(const struct value *tree, const char *origin, struct task *task, struct error *err);

struct app_task {
	const char *text;
	size_t len;
	const struct value *tree;   /* instead of TEXT, where it was read already */
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
int app_task(const struct app_task *given, struct value **ret_answer, bool *ret_pass,
	     struct error *err);

/*
 * Whether the gates of the task and of the sandbox's profile hold for SANDBOX (NAME or NAME@SNAP) as it is now, its tests run
 * anew; *ret_pass is false where it names none of its own. *ret_answer: [{expr, holds, evidence}].
 */
int app_task_gates(const struct app_task *given, const char *sandbox, struct value **ret_answer,
		   bool *ret_pass, struct error *err);

#endif
