/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asked for and a person has to decide, because it changes the host: a promotion, a way through the stages, a
 * commit. STATE/asks/ID, one JSON object each.
 *
 * What is asked about is a snapshot, made for that, and the bundle it comes to, by its digest: the answer is applied to
 * that and nothing else, whatever becomes of the sandbox meanwhile; should the host have moved so that it comes to
 * something else, nothing is applied. The snapshot goes with the decision, unless stages were entered with it; decided
 * ones are kept for a week, for the asker to look up.
 */
#ifndef APP_STAGE_APPROVAL_H
#define APP_STAGE_APPROVAL_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

enum approval_kind { APPROVAL_PROMOTION, APPROVAL_STAGES, APPROVAL_COMMIT };

struct approval_request {
	enum approval_kind kind;
	const char *sandbox;	  /* NAME or NAME@SNAP */
	const struct strv *paths; /* as app_promote takes them; empty: all */
	const char *strategy;	  /* NULL: fail */
	bool ignored, commits;	  /* of a promotion, as for app_promote */
	const char *reason;	  /* in the asker's words; NULL: none */
	const char *owner;	  /* the asker */
	const char *to;		  /* ASK_STAGES: the last stage to enter; NULL: all */
	const char *message;	  /* ASK_COMMIT: of the commit */
	const char *const *environ;
};

/*
 * Looks at what would be done and keeps the question: {request_id, kind, state: "pending", sandbox, reason, owner, made,
 * files, paths, triggers: [{path, why}]}, and {target, bundle, strategy, promotion_id} of a promotion, {bundle, stages:
 * [{name, target}]} of a way through stages, {target, branch, message, promotion_id} of a commit. Fails as the deed itself
 * does: with ERROR_CONFLICT *ret_answer is that of app_promote. ERROR_USAGE when there is nothing to promote.
 */
int approval_make(const struct approval_request *ask, struct value **ret_answer, struct error *err);

/* All of them, newest first, of one owner (NULL: anybody's). */
int approval_list(const char *owner, struct value **ret_list, struct error *err);

/*
 * The word of a person, or of a policy a person gave: does exactly what was shown, or nothing. The answer is the question
 * with its new state, approved or rejected, and what came of it. ERROR_CONFLICT when it was decided already, or has changed.
 */
int approval_decide(const char *id, bool is_approved, const char *const *env,
		    struct value **ret_answer, struct error *err);

/*
 * Whether gates that hold may decide ASK in a person's place. They see the whole sandbox and not what the host has become
 * meanwhile: they do not decide about parts of it, nor where the sandbox's version would win over a change of the host. Nor do they
 * see what git's own data bring: whatever lies in a git directory is for a person, and so is whatever could make something run.
 */
bool approval_may_gates_decide(const struct value *ask);

#endif
