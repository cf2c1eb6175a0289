/*
 * Promotions that a program asked for and a person has to decide: STATE/asks/ID, one JSON object each.
 *
 * What is asked about is a snapshot, made for that, and the bundle it comes to, by its digest: the answer is applied to that
 * and nothing else, whatever becomes of the sandbox meanwhile; should reality have moved so that it comes to something
 * else, nothing is applied. Decided ones are kept for a week, for whoever asked to find out.
 */
#ifndef ENGINE_PROMOTION_ASK_H
#define ENGINE_PROMOTION_ASK_H

#include "base/error.h"
#include "base/str.h"
#include "base/value.h"

struct engine_ask {
	const char *sandbox;	  /* NAME or NAME@SNAP */
	const struct strv *paths; /* as engine_promote takes them; empty: all */
	const char *strategy;	  /* NULL: fail */
	const char *reason;	  /* in the asker's words; NULL: none */
	const char *owner;	  /* who asks */
};

/*
 * Looks at what would be applied and keeps the question: {request_id, state: "pending", sandbox, target, bundle, strategy,
 * files, paths, triggers: [{path, why}], reason, owner, made, promotion_id}. Fails as engine_promote does: with
 * ERROR_CONFLICT *ret_answer is that one's. ERROR_USAGE when there is nothing to promote.
 */
int engine_ask_make(const struct engine_ask *ask, struct value **ret_answer, struct error *err);

/* All of them, newest first, of one owner (NULL: anybody's). */
int engine_ask_list(const char *owner, struct value **ret_list, struct error *err);

/*
 * The word of a person, or of a policy a person gave: applies exactly the bundle that was shown, or nothing. The answer is
 * the question with its new state, approved or rejected. ERROR_CONFLICT when it was decided already, or has changed.
 */
int engine_ask_decide(const char *id, bool is_approved, struct value **ret_answer,
		      struct error *err);

#endif
