/* SPDX-License-Identifier: Apache-2.0 */
/* Gates: the small language of conditions, read and decided. */
#include "decide/gate/gate.h"

#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/text/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COMMAND_MARK "cmd:"

enum unit { UNIT_COUNT, UNIT_TIME, UNIT_SIZE };

struct metric_row {
	const char *name;
	enum unit unit;
	int64_t max;
	const char *one, *many; /* of what evidence counts */
};

static const struct metric_row metric_rows[METRIC_COUNT] = {
	[METRIC_FILES] = { "diff.files", UNIT_COUNT, INT64_MAX, "file", "files" },
	[METRIC_LINES] = { "diff.lines", UNIT_COUNT, INT64_MAX, "line", "lines" },
	[METRIC_DURATION] = { "duration", UNIT_TIME, 0, NULL, NULL },
	[METRIC_MEMORY] = { "peak_memory", UNIT_SIZE, 0, NULL, NULL },
	[METRIC_EXIT] = { "exit_code", UNIT_COUNT, 255, NULL, NULL },
};

/* Longer ones first: "<=" starts with "<". */
static const struct {
	const char *text;
	enum gate_op op;
} op_rows[] = {
	{ "==", OP_EQUAL },    { "!=", OP_NOT_EQUAL }, { "<=", OP_AT_MOST },
	{ ">=", OP_AT_LEAST }, { "<", OP_LESS },       { ">", OP_MORE },
};

static const struct {
	const char *text;
	enum gate_kind kind;
} word_rows[] = {
	{ "tests==pass", GATE_TESTS },
	{ "no-network-violations", GATE_NETWORK },
	{ "no-secrets", GATE_SECRETS },
	{ "scan==clean", GATE_SCAN },
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

static int unknown_word(const char *text, size_t len, struct error *err)
{
	owned(free_ptr) char *word = xstrndup(text, len);
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, word);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		suggest_try(&suggest, metric_rows[i].name);
	for (size_t i = 0; i < sizeof(word_rows) / sizeof(word_rows[0]); i++)
		suggest_try(&suggest, word_rows[i].text);
	if (suggest.best) {
		error_set(err, ERROR_USAGE, "gate: '%s' is no condition", str_shown(word, shown));
		return error_add_hint(err, "did you mean '%s'?", suggest.best);
	}
	return error_advise(
		err, ERROR_USAGE,
		"use tests==pass, no-network-violations, no-secrets, scan==clean, cmd:COMMAND, or "
		"one of diff.files, diff.lines, duration, peak_memory, exit_code with "
		"== != < <= > >= and a value",
		"gate: '%s' is no condition", str_shown(word, shown));
}

static int find_metric(const char *text, size_t len, enum gate_metric *ret_metric,
		       struct error *err)
{
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		if (strlen(metric_rows[i].name) == len &&
		    strncmp(metric_rows[i].name, text, len) == 0) {
			*ret_metric = (enum gate_metric)i;
			return 0;
		}
	}
	return unknown_word(text, len, err);
}

static int read_op(const char **at, const char *metric, enum gate_op *ret_op, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < sizeof(op_rows) / sizeof(op_rows[0]); i++) {
		if (str_starts(*at, op_rows[i].text)) {
			*at += strlen(op_rows[i].text);
			*ret_op = op_rows[i].op;
			return 0;
		}
	}
	return error_advise(err, ERROR_USAGE, "one of == != < <= > >= belongs there",
			    "gate: behind '%s' stands '%s'", metric, str_shown(*at, shown));
}

/* Zero is a fair bound for a condition, and needs no unit. */
static int read_value(const struct metric_row *row, const char *text, int64_t *ret_value,
		      struct error *err)
{
	char where[48];

	(void)snprintf(where, sizeof(where), "gate: %s", row->name);
	if (strcmp(text, "0") == 0) {
		*ret_value = 0;
		return 0;
	}
	switch (row->unit) {
	case UNIT_COUNT:
		return units_count(where, text, 0, row->max, ret_value, err);
	case UNIT_TIME:
		return units_duration(where, text, ret_value, err);
	case UNIT_SIZE:
		return units_size(where, text, ret_value, err);
	}
	return -1;
}

static int parse_metric(const char *text, struct gate *gate, struct error *err)
{
	const char *at = text + strcspn(text, " \t=!<>");
	owned(free_ptr) char *value = NULL;
	size_t len;

	if (find_metric(text, (size_t)(at - text), &gate->metric, err) < 0)
		return -1;
	at = skip_blanks(at);
	if (read_op(&at, metric_rows[gate->metric].name, &gate->op, err) < 0)
		return -1;
	at = skip_blanks(at);
	len = strlen(at);
	while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
		len--;
	value = xstrndup(at, len);
	gate->kind = GATE_METRIC;
	return read_value(&metric_rows[gate->metric], value, &gate->value, err);
}

static int parse(const char *text, struct gate *gate, struct error *err)
{
	for (size_t i = 0; i < sizeof(word_rows) / sizeof(word_rows[0]); i++) {
		if (strcmp(text, word_rows[i].text) == 0) {
			gate->kind = word_rows[i].kind;
			return 0;
		}
	}
	if (!str_starts(text, COMMAND_MARK))
		return parse_metric(text, gate, err);
	gate->kind = GATE_COMMAND;
	if (!*skip_blanks(text + strlen(COMMAND_MARK)))
		return error_advise(err, ERROR_USAGE, "write cmd:COMMAND",
				    "gate: nothing behind 'cmd:'");
	return 0;
}

int gate_parse(const char *text, struct gate *ret_gate, struct error *err)
{
	const char *start = skip_blanks(text);
	struct gate gate = { .kind = GATE_METRIC };

	if (strlen(text) > GATE_TEXT_MAX)
		return error_set(err, ERROR_USAGE, "gate: longer than %d bytes", GATE_TEXT_MAX);
	if (!*start)
		return error_advise(err, ERROR_USAGE,
				    "write a condition such as 'diff.files<=20' or 'cmd:make test'",
				    "gate: empty");
	if (parse(start, &gate, err) < 0)
		return -1;
	gate.text = xstrdup(start);
	*ret_gate = gate;
	return 0;
}

void gate_done(struct gate *gate)
{
	free(gate->text);
	gate->text = NULL;
}

const char *gate_command(const struct gate *gate)
{
	return gate->text + strlen(COMMAND_MARK);
}

static bool compare(enum gate_op op, int64_t left, int64_t right)
{
	switch (op) {
	case OP_EQUAL:
		return left == right;
	case OP_NOT_EQUAL:
		return left != right;
	case OP_LESS:
		return left < right;
	case OP_AT_MOST:
		return left <= right;
	case OP_MORE:
		return left > right;
	case OP_AT_LEAST:
		return left >= right;
	}
	return false;
}

static char *describe(enum gate_metric metric, int64_t value)
{
	const struct metric_row *row = &metric_rows[metric];

	if (row->unit == UNIT_TIME)
		return xasprintf("%" PRId64 " ms", value);
	if (row->unit == UNIT_SIZE)
		return xasprintf("%" PRId64 " bytes", value);
	if (!row->one)
		return xasprintf("%s %" PRId64, row->name, value);
	return xasprintf("%" PRId64 " %s", value, value == 1 ? row->one : row->many);
}

static void decide_metric(const struct gate *gate, const struct gate_facts *facts,
			  struct gate_verdict *verdict)
{
	bool is_of_run = gate->metric != METRIC_FILES && gate->metric != METRIC_LINES;

	/* What never ran has no duration: to call that short would be a pass for nothing. */
	if (is_of_run && !facts->has_run) {
		verdict->evidence = xstrdup("nothing ran in this sandbox yet");
		return;
	}
	verdict->holds = compare(gate->op, facts->metrics[gate->metric], gate->value);
	verdict->evidence = describe(gate->metric, facts->metrics[gate->metric]);
}

void gate_decide(const struct gate *gate, const struct gate_facts *facts,
		 struct gate_verdict *ret_verdict)
{
	*ret_verdict = (struct gate_verdict){ .holds = false };
	if (gate->kind == GATE_METRIC) {
		decide_metric(gate, facts, ret_verdict);
	} else if (gate->kind == GATE_NETWORK) {
		ret_verdict->holds = facts->network_denials == 0;
		ret_verdict->evidence =
			xasprintf("%" PRIu64 " connection%s refused", facts->network_denials,
				  facts->network_denials == 1 ? "" : "s");
	}
}
