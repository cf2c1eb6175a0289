/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a promotion, in words: for `promote`, and for `try`, which promotes too. */
#ifndef OPS_PROMOTION_H
#define OPS_PROMOTION_H

#include "base/core/str.h"
#include "base/core/value.h"

/* ANSWER as app_promote gave it. What was (or would be) applied, and how to take it back; folded unless IS_ALL. */
void promotion_report(struct str *out, const struct value *answer, bool is_all);

/* What was left in the sandbox because git ignores it, in one line; nothing without any, or without ANSWER. */
void promotion_report_ignored(struct str *out, const struct value *answer);

/* What a program asks for, on one line without its end: a promotion, a way through stages, a commit. */
void promotion_report_ask(struct str *out, const struct value *ask);

/* More files than this are not agreed to in a dialogue: what it does not show, its answer must not cover. */
#define PROMOTION_ASKED_MAX 50

/*
 * What needs a person's word, why, and the flag that gives it with the command AGAIN (NULL: a promotion of the whole).
 * Of more than PROMOTION_ASKED_MAX files in a directory that is asked about as a whole, one of each kind unless IS_ALL.
 */
void promotion_report_consent(struct str *out, const struct value *answer, const char *again,
			      bool is_all);

/* The consents of ANSWER as app_promote takes them back: "WHY PATH". */
void promotion_read_agreed(const struct value *answer, struct strv *ret_agreed);

/* Each open conflict: which file, both sides, and the choices as commands. */
void promotion_report_conflicts(struct str *out, const struct value *answer);

/* Whether gates that hold may decide ASK in a person's place (app/stage/approval.h). */
bool promotion_may_gates_decide(const struct value *ask);

/* A path of a list of paths (text, or {path, path_b64}), as diff prints it. */
void promotion_add_path(struct str *out, const struct value *item);

/* For a sandbox whose commits wait; its name three times. */
#define COMMITS_WAIT                                                                              \
	"commits made inside are not on the host yet: aisbx promote %s --commits takes those of " \
	"its own branch; other branches, tags and stashes stay inside, unless you fetch them "    \
	"from a bundle: aisbx exec %s -- git bundle create refs.bundle --all && "                 \
	"aisbx cp %s:refs.bundle .\n"

#endif
