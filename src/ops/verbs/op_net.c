/* SPDX-License-Identifier: Apache-2.0 */
/* `net`: the network rules in force, where each comes from, and what came of them. */
#include "app/sandbox/network.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include "base/own.h"

static const char *text_of(const struct value *row, const char *key)
{
	const char *text = value_get_text(row, key);

	return text ? text : "";
}

static void tell_rules(struct str *out, const struct value *rules)
{
	static const char *const titles[] = { "ACTION", "RULE", "FROM" };
	static const char *const keys[] = { "action", "rule", "from" };
	owned(strv_done) struct strv cells = STRV_INIT;

	for (size_t i = 0; i < 3; i++)
		strv_add(&cells, titles[i]);
	for (size_t i = 0; i < rules->many.count; i++) {
		for (size_t j = 0; j < 3; j++)
			strv_add(&cells, text_of(rules->many.items[i], keys[j]));
	}
	if (rules->many.count > 0)
		words_add_table(out, &cells, 3);
	else
		str_add(out, "no rules\n");
}

static void tell_denials(struct str *out, const struct value *denials)
{
	for (size_t i = 0; i < denials->many.count; i++) {
		const struct value *row = denials->many.items[i];

		str_addf(out, "%sdenied ", i ? "" : "\n");
		words_add_age(out, words_moment(row, "time"));
		str_add(out, ": ");
		words_add_line(out, text_of(row, "what"));
		str_add(out, " (");
		words_add_line(out, text_of(row, "rule"));
		str_add(out, value_get_text(row, "hint") ? "; " : "");
		words_add_line(out, text_of(row, "hint"));
		str_add(out, ")\n");
	}
}

static void tell_counts(struct str *out, const struct value *answer)
{
	int64_t connections;

	if (!value_get_int(answer, "connections", &connections))
		return;
	str_addf(out, "\n%lld connection%s, ", (long long)connections, connections == 1 ? "" : "s");
	words_add_size(out, value_int_of(answer, "sent_bytes"));
	str_add(out, " sent, ");
	words_add_size(out, value_int_of(answer, "received_bytes"));
	str_add(out, " received\n");
}

int op_net_run(struct op_call *call, struct error *err)
{
	struct str *out = &call->text;
	const char *name, *workspace = op_arg_text(call, "workspace");

	if (op_want_words(call, 0, 1, err) < 0)
		return -1;
	name = call->words.count > 0 ? call->words.items[0] : NULL;
	if (name && workspace)
		return error_set(err, ERROR_USAGE, "name a sandbox, or a workspace, not both");
	if (engine_network(name, workspace, &call->answer, err) < 0)
		return -1;
	if (name)
		words_add_line(out, name);
	else
		words_add_path(out, text_of(call->answer, "workspace"));
	str_addf(out, ": net %s%s\n", text_of(call->answer, "net"),
		 value_is_true(call->answer, "running") ? ", running" : "");
	tell_rules(out, value_get(call->answer, "rules"));
	tell_counts(out, call->answer);
	tell_denials(out, value_get(call->answer, "denials"));
	return 0;
}
