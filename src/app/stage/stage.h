/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graduated promotion: one bundle through the stages of a pipeline. Only in the program with libraries.
 *
 * A bundle is sealed when it is first staged: a snapshot of the sandbox, and its changes with their contents in the
 * store, so that later stages get exactly what earlier ones verified, whatever the sandbox does meanwhile. Each stage
 * checks a clone of its target with the bundle on top, promotes, and checks the target as it then is; what fails there
 * is taken back, and later stages are not touched. Every step is on disk before it begins (decide/stage/state.h).
 */
#ifndef APP_STAGE_H
#define APP_STAGE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>

struct app_stage {
	const char *sandbox;
	const char *
		file; /* of the pipeline; NULL: pipeline.yaml of the workspace, else the user's own */
	const char *to;			/* the last stage to enter; NULL: all */
	const struct strv *allow_paths; /* as for promote; may be NULL */
	const struct strv *agreed; /* instead of those: "WHY PATH" as for promote; may be NULL */
	bool ignored;		   /* also what git ignores, as for promote */
	bool commits; /* the stage that is the sandbox's own workspace gets commits, as for promote; others files */
	const char *bundle; /* the one that was looked at: another is ERROR_CONFLICT; NULL: any */
	const struct value *stages; /* those that were looked at; the same */
	const char *const *environ;
	const char *owner; /* as in a request */
	uint64_t owner_bytes;
	/* Called at each step. May be NULL. */
	void (*progress)(const char *stage, const char *state, void *cookie);
	void *cookie;
};

/*
 * {bundle, sandbox, snapshot, pipeline, made, outcome, stages: [{name, target, state, promotion_id, undo, reason,
 * ignored, changed, approved}], gates: [{stage, when, expr, holds, evidence}]}. outcome is live, or rolled-back when a check
 * after a stage failed. On ERROR_CONSENT, ERROR_DENIED and ERROR_CONFLICT the answer is set too: refused.
 */
int app_stage_run(const struct app_stage *stage, struct value **ret_answer, struct error *err);

/*
 * Seals what would be carried, and enters no stage: {bundle, snapshot, files, paths, stages: [{name, target}]}; those stages
 * that stand on the way.
 */
int app_stage_look(const struct app_stage *stage, struct value **ret_answer, struct error *err);

/*
 * A look that led to nothing: what was sealed for it goes, unless a stage has been begun with that BUNDLE. As best it can.
 */
void app_stage_let_go(const char *bundle);

/* BUNDLE: its name or the beginning of one: the object above. NULL: a list of them, newest first. */
int app_stage_status(const char *bundle, struct value **ret_answer, struct error *err);

/* Lets BUNDLE enter STAGE: {bundle, stage, uid, time}. */
int app_stage_approve(const char *bundle, const char *stage, struct value **ret_answer,
		      struct error *err);

/*
 * Trusts FILE when it is a pipeline (*ret_is_pipeline; a malformed one is an error): {path, sha256}. Anything else is
 * left to app_profile_trust.
 */
int app_pipeline_trust(const char *file, const char *const *env, bool *ret_is_pipeline,
		       struct value **ret_answer, struct error *err);

#endif
