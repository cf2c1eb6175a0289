/* SPDX-License-Identifier: Apache-2.0 */
/* Policies looked at by their authors. DIR: a directory instead of what is in force; may be NULL. */
#ifndef APP_VET_REGO_VERBS_H
#define APP_VET_REGO_VERBS_H

#include "base/core/error.h"
#include "base/core/value.h"

/* Reads all of it and evaluates it once for every action: {files, digest}. */
int policy_verb_check(const char *dir, struct value **ret_answer, struct error *err);

/* Rules that begin with test_: [{test, passed, why}]. */
int policy_verb_test(const char *dir, struct value **ret_list, bool *ret_pass, struct error *err);

/*
 * Asks with the input in FILE ("-": standard input): {decision, why, require_gate, require_driver, require_approvals,
 * limits, policy}, and with EXPLAINS {sets: [{name, rules, covered: [{path, lines}]}]}. Nothing is recorded.
 */
int policy_verb_eval(const char *dir, const char *file, bool explains, struct value **ret_answer,
		     struct error *err);

#endif
