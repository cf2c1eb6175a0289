/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies as code: Rego of the user and of the machine, asked before something is started, allowed or promoted.
 *
 *   ~/.config/aisbx/policy/  ┐  every file read,      aisbx-policy: one line in, one line out,
 *   /etc/aisbx/policy.d/     ┴─ checked, hashed  ──>  no files, no network, bounded  ──>  denials, demands
 *
 * Each directory is evaluated for itself: a rule of one does not see the other, and a denial of either denies. A policy
 * only takes away: it denies, demands a gate, approvals or a stronger driver, and lowers limits. What cannot be read,
 * parsed or evaluated denies. The hot program cannot ask; it hands over to aisbx-full where a directory is there.
 */
#ifndef APP_VET_REGO_H
#define APP_VET_REGO_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "base/hash/sha256.h"
#include "plan/request.h"
#include "spec/spec.h"

/* What a policy demands where it does not deny. */
struct policy_answer {
	struct strv gates;    /* expressions of require_gate */
	struct strv drivers;  /* of require_driver: at least as strong as each */
	struct value *limits; /* a list of objects, flag to value; NULL: none */
	int64_t approvals;    /* accounts that have to agree */
	char digest[SHA256_HEX_SIZE];
};

void policy_answer_done(struct policy_answer *answer);

/* Whether one of the directories is there, or cannot be looked at. Two lookups; nothing is opened. */
bool policy_may_exist(void);

/* In the hot program: ERROR_LIBRARIES where policy_may_exist(). In aisbx-full: nothing. */
int policy_hand_over(struct error *err);

/*
 * Asks about ACTION with INPUT, a map to which what all questions have in common is added. KEPT_FD: of a kept evaluator; 0:
 * none, and one is started for this. ERROR_DENIED with the policy's words, or with the reason why it could not be asked. The decision goes to the history. Only in aisbx-full, as
 * what follows.
 */
int policy_ask(const char *action, struct value *input, int kept_fd,
	       struct policy_answer *ret_answer, struct error *err);

/*
 * Asks about starting what SPEC says, for the request's own action, else ACTION, and lowers its limits. RET_MOST, unless NULL,
 * gets the limits that policies name, and 0 for all others. Without a policy nothing happens.
 */
int policy_start(const struct request *request, const char *action, struct spec *spec,
		 struct spec_limits *ret_most, struct error *err);
#pragma weak policy_start

/* Lowers LIMITS to MOST, where that is not 0. Returns the flag's name of the first that was lowered, or NULL. */
const char *policy_lower(struct spec_limits *limits, const struct spec_limits *most);
#pragma weak policy_lower

/* What a promotion on trial answered (NULL: nothing), as the section `change` of an input. */
struct value *policy_change(const struct value *promotion);

/* Asks about anything else, with INPUT, a map, which is released. What is demanded beside denials cannot be met there. */
int policy_call(const char *action, struct value *input, int kept_fd, struct error *err);

#endif
