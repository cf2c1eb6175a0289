/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that change while they are in use: their texts, and the policy they come to. */
#ifndef NET_RULE_SET_H
#define NET_RULE_SET_H

#include "base/core/error.h"
#include "net/rule/policy.h"

struct rule_set {
	struct strv allow, deny;
	struct net_policy policy; /* borrows the texts */
};

struct rule_change {
	bool is_deny, is_removal;
	const char *rule;
};

/* Copies the texts. */
int rule_set_make(const struct strv *allow, const struct strv *deny, struct rule_set *ret_set,
		  struct error *err);

/*
 * One rule more or less; the policy's rules move. A rule that is there already stays; ERROR_NOT_FOUND for one that is
 * to go and is not there, in whatever spelling. On failure nothing changes.
 */
int rule_set_change(struct rule_set *set, const struct rule_change *change, struct error *err);

/* Where in TEXTS the same rule stands, in whatever spelling; TEXTS->count when it does not. */
size_t rule_find(const struct strv *texts, const char *rule);

void rule_set_done(struct rule_set *set);

#endif
