/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes network words and rules: what is accepted must not open what it does not name. */
#include "base/core/own.h"
#include "net/rule/policy.h"
#include "spec/net_words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct error *err)
{
	if (err->code != ERROR_USAGE || strpbrk(err->text, "\n\033"))
		abort();
}

static void check_rule(const char *text)
{
	owned(strv_done) struct strv allow = STRV_INIT;
	struct strv deny = STRV_INIT;
	struct net_policy policy = { 0 };
	struct net_rule rule;
	struct net_address metadata;
	struct error err = { 0 };
	const char *by;

	if (net_rule_parse(text, &rule, &err) < 0) {
		check_refusal(&err);
		return;
	}
	if (rule.first_port == 0 || rule.last_port < rule.first_port)
		abort();
	strv_add(&allow, text);
	if (net_policy_parse(&allow, &deny, &policy, &err) < 0)
		return;
	if (!net_address_parse("169.254.169.254", &metadata))
		abort();
	if (net_policy_address(&policy, &metadata,
			       (struct net_port){ rule.is_udp, rule.first_port },
			       &by) == NET_ALLOWED &&
	    !strstr(text, "169.254.169.254"))
		abort();
	net_policy_done(&policy);
}

/* The rules of a word are words that stand for themselves alone; the host of each stands in the word. */
static void check_word(const char *word, bool is_deny)
{
	owned(strv_done) struct strv rules = STRV_INIT;
	struct error err = { 0 };

	if (net_words_expand(word, is_deny, "--allow", &rules, &err) < 0) {
		if (rules.count > 0)
			abort();
		check_refusal(&err);
		return;
	}
	if (rules.count == 0)
		abort();
	for (size_t i = 0; i < rules.count; i++) {
		owned(strv_done) struct strv again = STRV_INIT;
		const char *rule = rules.items[i] + (str_starts(rules.items[i], "udp:") ? 4 : 0);
		owned(free_ptr) char *host = xstrndup(rule, (size_t)(strrchr(rule, ':') - rule));

		if (!strstr(word, host) ||
		    net_words_expand(rules.items[i], is_deny, "--allow", &again, &err) < 0 ||
		    again.count != 1 || strcmp(again.items[0], rules.items[i]) != 0)
			abort();
		check_rule(rules.items[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(free_ptr) char *text = xstrndup((const char *)data, size);

	check_rule(text);
	check_word(text, false);
	check_word(text, true);
	return 0;
}
