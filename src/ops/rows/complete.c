/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may follow on an unfinished command line, for the shells' completion scripts: one answer for all of them.
 *
 * Each line is a word, and behind a tab what it means. Lines that begin with ':' ask for what a shell knows better: `:files`,
 * `:directories`, and `:command N`, from whose Nth word on (0: `aisbx`) the line is another program's own.
 */
#include "base/core/own.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

struct line {
	const struct op *op;
	const struct strv *words; /* the verb first; the last one is unfinished */
	const char *current;
	struct str *out;
};

/* Names that are looked up: the call that lists them, and where they stand in its answer. */
static const struct source {
	const char *name;
	const char *verb;
	const char *word; /* behind the verb; may be NULL */
	const char *key;
	const char *about; /* a second key, shown beside it; may be NULL */
} sources[] = {
	{ "@sandboxes", "ls", NULL, "name", "base" },
	{ "@snapshots", "snaps", NULL, "name", "message" },
	{ "@promotions", "promotions", NULL, "promotion_id", "target" },
	{ "@artifacts", "artifact", "ls", "artifact_id", "path" },
	{ "@profiles", "profile", "ls", "name", "summary" },
	{ "@jobs", "job", "ls", "name", "when" },
	{ "@runs", "history", NULL, "run_id", "workspace" },
	{ NULL, NULL, NULL, NULL, NULL },
};

/* Flags whose value is such a name. */
static const struct {
	const char *flag, *words;
} named_values[] = {
	{ "profile", "@profiles|:files" },
	{ "sandbox", "@sandboxes" },
	{ "snap", "@snapshots" },
	{ "base", "@sandboxes" },
	{ NULL, NULL },
};

static void add_word(struct line *line, const char *prefix, const char *word, const char *about)
{
	owned(free_ptr) char *whole = xasprintf("%s%s", prefix, word);

	/* Names with control characters would end the line early, or steer the terminal. */
	for (const char *c = whole; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return;
	}
	if (strncmp(whole, line->current, strlen(line->current)) != 0)
		return;
	str_addf(line->out, "%s\t", whole);
	words_add_line(line->out, about ? about : "");
	str_add_char(line->out, '\n');
}

/* The word at POSITION among those that are no flags, the verb not counted; NULL when there is none before the last. */
static const char *positional(const struct line *line, size_t position)
{
	for (size_t i = 1; i + 1 < line->words->count; i++) {
		if (line->words->items[i][0] != '-' && position-- == 0)
			return line->words->items[i];
	}
	return NULL;
}

/* -1 where the names are another program's to list. */
static int add_names(struct line *line, const struct source *source, const char *prefix,
		     const char *argument, struct error *err)
{
	const struct op *op = op_find(source->verb);
	struct op_call call;
	struct error unread = { 0 };

	if (!op->run)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	op_call_init(&call, op, NULL);
	if (source->word)
		strv_add(&call.words, source->word);
	if (argument)
		strv_add(&call.words, argument);
	/* A store that cannot be read completes to nothing: the call itself will say why. */
	if (op->run(&call, &unread) == 0 && call.answer && call.answer->kind == VALUE_LIST) {
		for (size_t i = 0; i < call.answer->many.count; i++) {
			const struct value *row = call.answer->many.items[i];
			const char *name = value_get_text(row, source->key);

			/* What was taken back cannot be so again. */
			if (name && !str_same(value_get_text(row, "state"), "undone"))
				add_word(line, prefix, name, value_get_text(row, source->about));
		}
	}
	op_call_done(&call);
	return 0;
}

static void add_verbs(struct line *line)
{
	for (const struct op *const *at = ops; *at; at++)
		add_word(line, "", (*at)->name, (*at)->summary);
}

static void add_topics(struct line *line)
{
	for (const struct help_topic *topic = help_topics; topic->name; topic++)
		add_word(line, "", topic->name, topic->summary);
}

static int add_looked_up(struct line *line, const char *kind, struct error *err)
{
	const char *at = strchr(line->current, '@');
	const char *sandbox = positional(line, 0);

	/* NAME@SNAP */
	if (at && strcmp(kind, OP_SANDBOXES) == 0) {
		owned(free_ptr) char *name = xstrndup(line->current, (size_t)(at - line->current));
		owned(free_ptr) char *prefix = xasprintf("%s@", name);

		return add_names(line, &sources[1], prefix, name, err);
	}
	if (strcmp(kind, OP_TOPICS) == 0) {
		add_verbs(line);
		add_topics(line);
		return 0;
	}
	for (const struct source *source = sources; source->name; source++) {
		bool is_snapshot = source == &sources[1];

		if (strcmp(source->name, kind) == 0 && (!is_snapshot || sandbox))
			return add_names(line, source, "", is_snapshot ? sandbox : NULL, err);
	}
	return 0;
}

/* CHOICES: words, @names that are looked up and :wishes, with '|' between them. */
static int add_choices(struct line *line, const char *choices, struct error *err)
{
	while (*choices) {
		size_t len = strcspn(choices, "|");
		owned(free_ptr) char *word = xstrndup(choices, len);

		if (*word == ':')
			str_addf(line->out, "%s\n", word);
		else if (*word != '@')
			add_word(line, "", word, NULL);
		else if (add_looked_up(line, word, err) < 0)
			return -1;
		choices += len + (choices[len] == '|');
	}
	return 0;
}

/* What a flag's value may be: its choices, names of ours, files where its metavar says so. */
static const char *value_choices(const char *name, const char *metavar, const char *choices)
{
	if (choices)
		return choices;
	for (size_t i = 0; named_values[i].flag; i++) {
		if (strcmp(named_values[i].flag, name) == 0)
			return named_values[i].words;
	}
	if (strcmp(metavar, "DIR") == 0)
		return ":directories";
	return strstr(metavar, "FILE") || strstr(metavar, "SRC") ? ":files" : "";
}

static bool is_flag(const struct op_param *param, const char *word)
{
	if (word[0] == '-' && word[1] == '-')
		return strcmp(word + 2, param->name) == 0;
	return word[0] == '-' && param->letter && word[1] == param->letter && word[2] == '\0';
}

/* The choices of the value that WORD, a flag of the verb, waits for; NULL when it waits for none. */
static const char *awaited_value(const struct op *op, const char *word)
{
	for (const struct op_param *param = op->params; param && param->name; param++) {
		if (param->metavar && is_flag(param, word))
			return value_choices(param->name, param->metavar, param->choices);
	}
	if ((op->flags & OP_SETTINGS) && word[0] == '-' && word[1] == '-') {
		const struct setting_row *row = setting_find(word + 2);

		if (row && row->flag && row->kind != SETTING_MAYBE)
			return value_choices(row->name, row->metavar, row->choices);
	}
	return NULL;
}

static void add_flags(struct line *line, const struct op_param *param)
{
	for (; param && param->name; param++)
		add_word(line, "--", param->name, param->help);
}

static void add_all_flags(struct line *line)
{
	add_flags(line, line->op->params);
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		if (row->flag && (line->op->flags & OP_SETTINGS))
			add_word(line, "--", row->name, row->help);
	}
	add_flags(line, op_common_params);
	if (line->op->flags & OP_COMMAND)
		add_word(line, "", "--", "the command follows");
}

static int add_positional(struct line *line, struct error *err)
{
	const char *words = line->op->words ? line->op->words : ":files";
	size_t first = strcspn(words, ";");

	if (!positional(line, 0)) {
		owned(free_ptr) char *choices = xstrndup(words, first);

		return add_choices(line, choices, err);
	}
	return add_choices(line, words[first] ? words + first + 1 : ":files", err);
}

int help_complete(struct op_call *call, struct error *err)
{
	const struct strv *words = &call->command;
	struct line line = { .words = words, .out = &call->text };
	const char *choices;

	if (words->count == 0)
		return error_set(err, ERROR_USAGE, "--complete needs the words so far behind --");
	line.current = words->items[words->count - 1];
	if (words->count == 1) {
		add_verbs(&line);
		return 0;
	}
	for (size_t i = 1; i + 1 < words->count; i++) {
		if (strcmp(words->items[i], "--") == 0) {
			str_addf(&call->text, ":command %zu\n", i + 2);
			return 0;
		}
	}
	line.op = op_find(words->items[0]);
	if (!line.op)
		return 0;
	choices = awaited_value(line.op, words->items[words->count - 2]);
	if (choices)
		return add_choices(&line, choices, err);
	if (line.current[0] == '-') {
		add_all_flags(&line);
		return 0;
	}
	return add_positional(&line, err);
}
