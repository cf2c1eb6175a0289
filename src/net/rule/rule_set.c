/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that change while they are in use. */
#include "net/rule/rule_set.h"

#include "base/core/own.h"

#include <string.h>

int rule_set_make(const struct strv *allow, const struct strv *deny, struct rule_set *ret_set,
		  struct error *err)
{
	struct rule_set set = { 0 };

	strv_copy(&set.allow, allow);
	strv_copy(&set.deny, deny);
	if (net_policy_parse(&set.allow, &set.deny, &set.policy, err) < 0) {
		rule_set_done(&set);
		return -1;
	}
	*ret_set = set;
	return 0;
}

size_t rule_find(const struct strv *texts, const char *rule)
{
	struct net_rule wanted, one;
	struct error ignored;
	size_t at = 0;

	if (net_rule_parse(rule, &wanted, &ignored) < 0)
		return texts->count;
	while (at < texts->count && (net_rule_parse(texts->items[at], &one, &ignored) < 0 ||
				     !net_rule_equal(&wanted, &one)))
		at++;
	return at;
}

static void copy_but(const struct strv *from, size_t left_out, struct strv *to)
{
	for (size_t i = 0; i < from->count; i++) {
		if (i != left_out)
			strv_add(to, from->items[i]);
	}
}

int rule_set_change(struct rule_set *set, const struct rule_change *change, struct error *err)
{
	const struct strv *list = change->is_deny ? &set->deny : &set->allow;
	size_t at = rule_find(list, change->rule);
	owned(strv_done) struct strv texts = STRV_INIT;
	struct net_rule rule;
	struct rule_set next;
	int status;

	if (net_rule_parse(change->rule, &rule, err) < 0)
		return -1;
	if (change->is_removal && at == list->count)
		return error_set(err, ERROR_NOT_FOUND, "no such rule to %s: %s",
				 change->is_deny ? "deny" : "allow", change->rule);
	if (!change->is_removal && at < list->count)
		return 0;
	copy_but(list, at, &texts);
	if (!change->is_removal)
		strv_add(&texts, change->rule);
	status = change->is_deny ? rule_set_make(&set->allow, &texts, &next, err)
				 : rule_set_make(&texts, &set->deny, &next, err);
	if (status < 0)
		return -1;
	rule_set_done(set);
	*set = next;
	return 0;
}

void rule_set_done(struct rule_set *set)
{
	net_policy_done(&set->policy);
	strv_done(&set->allow);
	strv_done(&set->deny);
}
