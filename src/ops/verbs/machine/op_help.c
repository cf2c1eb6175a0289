/* SPDX-License-Identifier: Apache-2.0 */
/* `help`: the table of verbs as words for people, as data, and for the shells' completion. */
#include "base/text/suggest.h"
#include "ops/rows/rows.h"

#include <string.h>

#define TEXT_WIDTH 80
#define LABEL_WIDTH 26

/* Adds TEXT broken at spaces, later lines indented, starting at column AT. */
static void add_wrapped(struct str *out, const char *text, size_t indent, size_t at)
{
	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > indent && at + 1 + word > TEXT_WIDTH) {
			str_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			str_add_char(out, ' ');
			at++;
		}
		str_add_bytes(out, text, word);
		at += word;
		text += word;
		text += strspn(text, " ");
	}
	str_add_char(out, '\n');
}

static void add_labelled(struct str *out, const char *label, const char *text)
{
	size_t used = strlen(label) + 2;

	str_addf(out, "  %s", label);
	if (used + 2 > LABEL_WIDTH) {
		str_addf(out, "\n%*s", LABEL_WIDTH, "");
		used = LABEL_WIDTH;
	}
	str_addf(out, "%*s", (int)(LABEL_WIDTH - used), "");
	add_wrapped(out, text, LABEL_WIDTH, LABEL_WIDTH);
}

static void add_param(struct str *out, const struct op_param *param)
{
	struct str label = STR_INIT;

	if (param->letter)
		str_addf(&label, "-%c%s%s, ", param->letter, param->metavar ? " " : "",
			 param->metavar ? param->metavar : "");
	str_addf(&label, "--%s", param->name);
	if (param->metavar)
		str_addf(&label, " %s", param->metavar);
	add_labelled(out, str_cstr(&label), param->help);
	str_done(&label);
}

static void add_setting(struct str *out, const struct setting_row *row)
{
	struct str label = STR_INIT;

	if (row->kind == SETTING_MAYBE)
		str_addf(&label, "--%s[=%s]", row->name, row->metavar);
	else
		str_addf(&label, "--%s %s", row->name, row->choices ? row->choices : row->metavar);
	add_labelled(out, str_cstr(&label), row->help);
	str_done(&label);
}

static void add_flags(struct str *out, const struct op *op)
{
	str_add(out, "\nFlags:\n");
	for (const struct op_param *param = op->params; param && param->name; param++)
		add_param(out, param);
	for (const struct op_param *param = op_common_params; param->name; param++)
		add_param(out, param);
	if (!(op->flags & OP_SETTINGS))
		return;
	str_add(out, "\nSettings (flags here, and keys of a profile):\n");
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		if (row->flag)
			add_setting(out, row);
	}
}

static void help_verb(struct str *out, const struct op *op)
{
	static const char before[] = "usage: aisbx ";

	str_addf(out, "%s%s", before, op->name);
	add_wrapped(out, op->usage, sizeof(before) - 1, strlen(before) + strlen(op->name));
	str_add_char(out, '\n');
	str_addf(out, "%s: %s.\n", op->name, op->summary);
	if (op->help)
		str_addf(out, "\n%s", op->help);
	add_flags(out, op);
}

/* What a newcomer needs, in the order in which it is needed. */
static void help_first(struct str *out)
{
	static const char *const verbs[] = { "run",	"try",	"create", "exec", "diff",
					     "promote", "undo", "race",	  "ls",	  "rm" };

	str_add(out, "aisbx: try it on a throw-away copy of this machine\n\n"
		     "usage: aisbx VERB [flags] [--] [CMD ARGS]\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		add_labelled(out, verbs[i], op_find(verbs[i])->summary);
	str_add(out, "\nMore: aisbx help --all lists every verb, aisbx help VERB explains one.\n"
		     "See it work, on a directory made for that and gone afterwards: aisbx tour\n");
}

static void help_overview(struct str *out)
{
	const char *group = "";

	str_add(out, "aisbx: try it on a throw-away copy of this machine\n\n"
		     "usage: aisbx VERB [flags] [--] [CMD ARGS]\n");
	for (const struct op *const *at = ops; *at; at++) {
		const struct op *op = *at;

		if (strcmp(op->group, group) != 0)
			str_addf(out, "\n%s:\n", op->group);
		group = op->group;
		add_labelled(out, op->name, op->summary);
	}
	str_add(out, "\nTopics (aisbx help TOPIC):\n");
	for (const struct help_topic *topic = help_topics; topic->name; topic++)
		add_labelled(out, topic->name, topic->summary);
	str_add(out,
		"\nExamples:\n"
		"  aisbx run -- make test                    as if here, but nothing stays\n"
		"  aisbx run --mem 512m --time 30s -- ./a    with limits\n"
		"  aisbx run --json -- ./a                   the result as one object\n"
		"  aisbx try -- ./upgrade.sh                 look first, then apply or forget\n"
		"  aisbx doctor                              what protects you on this machine\n"
		"\nEvery verb takes --json. More: aisbx help VERB, man aisbx.\n");
}

static struct value *describe_flag(struct value *list, const char *name, const char *metavar,
				   const char *choices, const char *words)
{
	struct value *flag = value_append(list, value_new_map());

	value_set(flag, "name", value_new_text(name));
	value_set(flag, "metavar", value_new_text(metavar));
	value_set(flag, "choices", value_new_text(choices));
	value_set(flag, "help", value_new_text(words));
	return flag;
}

static void describe_params(struct value *list, const struct op_param *param)
{
	for (; param && param->name; param++) {
		struct value *flag = describe_flag(list, param->name, param->metavar,
						   param->choices, param->help);
		char letter[2] = { param->letter, '\0' };

		value_set(flag, "letter", value_new_text(param->letter ? letter : NULL));
		value_set(flag, "repeatable", value_new_bool(param->kind == PARAM_LIST));
	}
}

static void describe_settings(struct value *list)
{
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		struct value *flag;

		if (!row->flag)
			continue;
		flag = describe_flag(list, row->name, row->metavar, row->choices, row->help);
		value_set(flag, "letter", value_new_null());
		value_set(
			flag, "repeatable",
			value_new_bool(row->kind == SETTING_LIST || row->kind >= SETTING_MOUNT_RO));
	}
}

static struct value *describe_verb(const struct op *op)
{
	struct value *verb = value_new_map();
	struct value *flags;

	value_set(verb, "name", value_new_text(op->name));
	value_set(verb, "usage", value_new_text(op->usage));
	value_set(verb, "summary", value_new_text(op->summary));
	value_set(verb, "group", value_new_text(op->group));
	flags = value_set(verb, "flags", value_new_list());
	describe_params(flags, op->params);
	describe_params(flags, op_common_params);
	if (op->flags & OP_SETTINGS)
		describe_settings(flags);
	return verb;
}

static struct value *describe_all(void)
{
	struct value *list = value_new_list();

	for (const struct op *const *at = ops; *at; at++)
		value_append(list, describe_verb(*at));
	return list;
}

static int help_topic(struct op_call *call, const char *name, struct error *err)
{
	struct suggest suggest;

	suggest_init(&suggest, name);
	for (const struct help_topic *topic = help_topics; topic->name; topic++) {
		suggest_try(&suggest, topic->name);
		if (strcmp(topic->name, name) != 0)
			continue;
		str_add(&call->text, topic->text);
		call->answer = value_new_map();
		value_set(call->answer, "topic", value_new_text(topic->name));
		value_set(call->answer, "text", value_new_text(topic->text));
		return 0;
	}
	for (const struct op *const *at = ops; *at; at++)
		suggest_try(&suggest, (*at)->name);
	if (suggest.best) {
		error_set(err, ERROR_USAGE, "no verb or topic '%s'", name);
		return error_add_hint(err, "did you mean %s?", suggest.best);
	}
	return error_advise(err, ERROR_USAGE, "aisbx help lists them", "no verb or topic '%s'",
			    name);
}

int op_help_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : NULL;
	const struct op *op = word ? op_find(word) : NULL;

	if (call->words.count > 1)
		return error_set(err, ERROR_USAGE, "help takes one verb or topic");
	if (op_arg_switch(call, "complete")) {
		if (help_complete(call, err) < 0)
			return -1;
		if (call->json) {
			call->answer = value_new_map();
			value_set(call->answer, "lines", value_new_text(str_cstr(&call->text)));
		}
		return 0;
	}
	if (op) {
		help_verb(&call->text, op);
		call->answer = describe_verb(op);
		return 0;
	}
	if (word)
		return help_topic(call, word, err);
	if (op_arg_switch(call, "all"))
		help_overview(&call->text);
	else
		help_first(&call->text);
	call->answer = describe_all();
	return 0;
}
