/* SPDX-License-Identifier: Apache-2.0 */
/* `allow` and `deny`: network rules more or less, for a sandbox at once or for a workspace from now on. */
#include "base/core/own.h"
#include "app/sandbox/network.h"
#include "ops/rows/rows.h"
#include "spec/net_words.h"

#include <string.h>

/* The words: [NAME] RULE. */
static int read_words(const struct op_call *call, struct app_rule *wish, struct error *err)
{
	const struct strv *words = &call->words;

	if (op_want_words(call, 1, 2, err) < 0 ||
	    net_words_expand(words->items[words->count - 1], wish->is_deny, call->op->name,
			     &wish->rules, err) < 0)
		return -1;
	wish->sandbox = words->count == 2 ? words->items[0] : NULL;
	wish->workspace = op_arg_text(call, "workspace");
	wish->is_removal = op_arg_switch(call, "rm") || op_arg_switch(call, "remove");
	wish->services_with_network =
		!wish->is_deny && op_arg_switch(call, "services-with-network");
	if (wish->services_with_network && !wish->sandbox)
		return error_set(err, ERROR_USAGE,
				 "--services-with-network is for a sandbox: name it");
	if (wish->sandbox && wish->workspace)
		return error_set(err, ERROR_USAGE,
				 "a rule is for the sandbox '%s' or for a workspace, not for both",
				 wish->sandbox);
	return 0;
}

/* Decided on rules that were shown: only while they are those. */
static int check_digest(const struct op_call *call, const struct app_rule *wish, struct error *err)
{
	const char *digest = op_arg_text(call, "digest"), *now;
	owned(value_release) struct value *answer = NULL;

	if (!digest)
		return 0;
	if (app_network(wish->sandbox, wish->workspace, &answer, err) < 0)
		return -1;
	now = value_get_text(answer, "digest");
	return now && strcmp(now, digest) == 0
		       ? 0
		       : error_advise(err, ERROR_CONFLICT, "look at them again: aisbx net",
				      "--digest: the rules have changed meanwhile");
}

static void show_rule(struct op_call *call, const struct app_rule *wish)
{
	struct str *out = &call->text;
	bool live = value_is_true(call->answer, "live");

	str_addf(out, "%s %s",
		 wish->is_removal ? "forgotten:" : "kept:", wish->is_deny ? "deny" : "allow");
	str_addf(out, " %s for ", value_get_text(call->answer, "rule"));
	if (wish->sandbox)
		str_addf(out, "%s%s\n", wish->sandbox, live ? ", in force now" : "");
	else
		str_addf(out, "runs in %s\n", value_get_text(call->answer, "workspace"));
}

static int change(struct op_call *call, bool is_deny, struct error *err)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(app_rule_done) struct app_rule wish = { .is_deny = is_deny };

	if (read_words(call, &wish, err) < 0 || check_digest(call, &wish, err) < 0 ||
	    app_rule(&wish, &call->answer, &notes, err) < 0)
		return -1;
	show_rule(call, &wish);
	for (size_t i = 0; i < notes.count; i++)
		str_addf(&call->notes, "%s\n", notes.items[i]);
	return 0;
}

int op_allow_run(struct op_call *call, struct error *err)
{
	return change(call, false, err);
}

int op_deny_run(struct op_call *call, struct error *err)
{
	return change(call, true, err);
}
