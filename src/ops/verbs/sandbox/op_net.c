/* SPDX-License-Identifier: Apache-2.0 */
/* `net`: the network rules in force, where each comes from, and what came of them. */
#include "app/run/preset_run.h"
#include "app/sandbox/network.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include "base/core/own.h"

#include <string.h>

static const char *text_of(const struct value *row, const char *key)
{
	const char *text = value_get_text(row, key);

	return text ? text : "";
}

static void report_rules(struct str *out, const struct value *rules)
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

static void report_denials(struct str *out, const struct value *denials)
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

static void report_counts(struct str *out, const struct value *answer)
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

/* In aisbx-full only: clients are asked, and packages of theirs read. */
#pragma weak app_presets

static void report_preset(struct strv *cells, const struct value *row)
{
	const struct value *hosts = value_get(row, "hosts");
	owned(free_ptr) char *name = xasprintf("@%s", text_of(row, "preset"));

	for (size_t i = 0; i < hosts->many.count; i++) {
		strv_add(cells, i ? "" : name);
		strv_add(cells, text_of(hosts->many.items[i], "rule"));
		strv_add(cells, text_of(hosts->many.items[i], "how"));
	}
	if (hosts->many.count > 0)
		return;
	strv_add(cells, name);
	strv_add(cells, "-");
	strv_add(cells, "unknown here: name hosts with --allow HOST");
}

/* `net presets`: what each @NAME stands for, and how that is known. */
static int show_presets(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv cells = STRV_INIT;

	if (!app_presets)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	if (app_presets(op_arg_text(call, "workspace"), call->environ,
			op_arg_switch(call, "refresh"), &call->answer, err) < 0)
		return -1;
	strv_add(&cells, "PRESET");
	strv_add(&cells, "RULE");
	strv_add(&cells, "KNOWN FROM");
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const struct value *notes = value_get(row, "notes");

		report_preset(&cells, row);
		for (size_t j = 0; j < notes->many.count; j++) {
			str_addf(&call->notes, "@%s: ", text_of(row, "preset"));
			words_add_line(&call->notes, notes->many.items[j]->text.bytes);
			str_add_char(&call->notes, '\n');
		}
	}
	words_add_table(&call->text, &cells, 3);
	return 0;
}

int op_net_run(struct op_call *call, struct error *err)
{
	struct str *out = &call->text;
	const char *name, *workspace = op_arg_text(call, "workspace");

	if (op_want_words(call, 0, 1, err) < 0)
		return -1;
	name = call->words.count > 0 ? call->words.items[0] : NULL;
	if (name && strcmp(name, "presets") == 0)
		return show_presets(call, err);
	if (op_arg_switch(call, "refresh"))
		return error_set(err, ERROR_USAGE, "--refresh is for `aisbx net presets`");
	if (name && workspace)
		return error_set(err, ERROR_USAGE, "name a sandbox, or a workspace, not both");
	if (app_network(name, workspace, &call->answer, err) < 0)
		return -1;
	if (name)
		words_add_line(out, name);
	else
		words_add_path(out, text_of(call->answer, "workspace"));
	str_addf(out, ": net %s%s\n", text_of(call->answer, "net"),
		 value_is_true(call->answer, "running") ? ", running" : "");
	report_rules(out, value_get(call->answer, "rules"));
	report_counts(out, call->answer);
	report_denials(out, value_get(call->answer, "denials"));
	return 0;
}
