/* SPDX-License-Identifier: Apache-2.0 */
/* `show` and `explain`: one run as it was recorded, as figures and in sentences. */
#include "base/core/own.h"
#include "app/record/history.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

#define COMMAND_SHOWN 400
/* Of those that a run was refused, in sentences; `show --json` has them all. */
#define DENIALS_EXPLAINED 5

static const struct value *list_of(const struct value *run, const char *key)
{
	static const struct value none = { .kind = VALUE_LIST };
	const struct value *list = value_get(run, key);

	return list && list->kind == VALUE_LIST ? list : &none;
}

static void add_time(struct str *out, const struct value *run, const char *key)
{
	const struct value *time = value_get(run, key);
	double ms = time && time->kind == VALUE_REAL ? time->real : (double)value_int_of(run, key);

	str_addf(out, ms < 1000 ? "%.0f ms" : "%.1f s", ms < 1000 ? ms : ms / 1000);
}

static void add_texts(struct str *out, const struct value *texts)
{
	for (size_t i = 0; i < texts->many.count; i++) {
		str_add(out, i ? ", " : "");
		if (texts->many.items[i]->kind == VALUE_TEXT)
			words_add_line(out, texts->many.items[i]->text.bytes);
	}
}

/* "connect 10.0.0.1:443 (net), 3 times; --allow example.org". */
static void add_denial(struct str *out, const struct value *denial)
{
	const char *what = value_get_text(denial, "what"), *layer = value_get_text(denial, "layer");
	const char *hint = value_get_text(denial, "hint");
	int64_t count = value_int_of(denial, "count");

	words_add_line(out, what ? what : "?");
	str_addf(out, " (%s)", layer ? layer : "?");
	if (count > 1)
		str_addf(out, ", %lld times", (long long)count);
	str_add(out, hint ? "; " : "");
	words_add_line(out, hint ? hint : "");
}

static void add_label(struct str *out, const char *label)
{
	str_addf(out, "%-9s ", label);
}

/* One line for each text of the list KEY. */
static void add_lines(struct str *out, const char *label, const struct value *list)
{
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *item = list->many.items[i];

		add_label(out, i ? "" : label);
		if (item->kind == VALUE_TEXT)
			words_add_line(out, item->text.bytes);
		else
			add_denial(out, item);
		str_add_char(out, '\n');
	}
}

static void add_text(struct str *out, const char *label, const struct value *run, const char *key)
{
	const char *text = value_get_text(run, key);

	if (!text)
		return;
	add_label(out, label);
	words_add_line(out, text);
	str_add_char(out, '\n');
}

/* What it used and changed, and what confined it, is recorded at its end. */
static bool is_running(const struct value *run)
{
	return strcmp(value_get_text(run, "status") ?: "", "running") == 0;
}

static void show_end(struct str *out, const struct value *run)
{
	const struct value *outside = value_get(run, "changes_outside");
	int64_t number;

	add_label(out, "ended");
	words_add_line(out, value_get_text(run, "status"));
	if (value_get_int(run, "exit_code", &number))
		str_addf(out, ", exit code %lld", (long long)number);
	if (value_get_int(run, "signal", &number))
		str_addf(out, ", signal %lld", (long long)number);
	str_add(out, ", after ");
	add_time(out, run, "duration_ms");
	str_add_char(out, '\n');
	add_label(out, "used");
	add_time(out, run, "cpu_ms");
	str_add(out, " of processor, ");
	words_add_size(out, value_int_of(run, "peak_memory_bytes"));
	str_add(out, " of memory\n");
	add_label(out, "changed");
	op_add_changes(out, run);
	if (outside && value_int_of(outside, "added") + value_int_of(outside, "modified") +
				       value_int_of(outside, "deleted") >
			       0)
		str_addf(out, ", outside the workspace +%lld ~%lld -%lld",
			 (long long)value_int_of(outside, "added"),
			 (long long)value_int_of(outside, "modified"),
			 (long long)value_int_of(outside, "deleted"));
	str_add_char(out, '\n');
	add_label(out, "output");
	words_add_size(out, value_int_of(run, "stdout_bytes"));
	str_add(out, ", errors ");
	words_add_size(out, value_int_of(run, "stderr_bytes"));
	str_addf(out, " (aisbx logs %s)\n", value_get_text(run, "run_id"));
	add_label(out, "walls");
	words_add_line(out, value_get_text(run, "isolation") ?: "none");
	str_add(out, ": ");
	add_texts(out, list_of(run, "layers"));
	str_add_char(out, '\n');
}

static void show(struct str *out, const struct value *run)
{
	add_text(out, "run", run, "run_id");
	add_text(out, "trace", run, "trace_id");
	add_text(out, "sandbox", run, "sandbox");
	add_label(out, "command");
	words_add_command(out, list_of(run, "command"), COMMAND_SHOWN);
	str_add_char(out, '\n');
	add_label(out, "started");
	words_add_age(out, words_moment(run, "started"));
	str_addf(out, " (%s)\n", value_get_text(run, "started") ?: "-");
	if (is_running(run))
		add_text(out, "status", run, "status");
	else
		show_end(out, run);
	add_lines(out, "degraded", list_of(run, "degraded"));
	add_lines(out, "refused", list_of(run, "denials"));
	add_text(out, "message", run, "message");
	add_lines(out, "warning", list_of(run, "warnings"));
	add_lines(out, "note", list_of(run, "notes"));
}

static const struct ending {
	const char *status, *words;
} endings[] = {
	{ "success", "It ended well" },
	{ "error", "It ended by itself and reported a failure of its own" },
	{ "timeout", "It was stopped because its time was up" },
	{ "oom", "It was ended because it used more memory than it may" },
	{ "killed", "It was ended by a signal" },
	{ "limit", "It was ended because it met a limit" },
	{ "denied", "It was refused before it started: nothing ran" },
	{ "internal", "aisbx itself failed before it had ended" },
};

static void explain_end(struct str *out, const struct value *run)
{
	const char *status = value_get_text(run, "status");
	int64_t number;

	if (is_running(run)) {
		str_add(out, "It is still running.\n");
		return;
	}
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (status && strcmp(status, endings[i].status) == 0)
			str_add(out, endings[i].words);
	}
	if (value_get_int(run, "signal", &number))
		str_addf(out, ", signal %lld", (long long)number);
	if (value_get_int(run, "exit_code", &number))
		str_addf(out, " (exit code %lld, after ", (long long)number);
	else
		str_add(out, " (after ");
	add_time(out, run, "duration_ms");
	str_add(out, ").\n");
}

/* What has a sentence already: messages, notes and warnings name the limit and the flag. */
static void explain_said(struct str *out, const struct value *run)
{
	static const char *const keys[] = { "notes", "warnings" };
	const char *message = value_get_text(run, "message"), *hint = value_get_text(run, "hint");

	if (message) {
		str_add(out, "- ");
		words_add_line(out, message);
		str_add(out, hint ? "; " : "");
		words_add_line(out, hint ? hint : "");
		str_add_char(out, '\n');
	}
	for (size_t i = 0; i < 2; i++) {
		const struct value *list = list_of(run, keys[i]);

		for (size_t j = 0; j < list->many.count; j++) {
			str_add(out, "- ");
			words_add_line(out, list->many.items[j]->text.bytes);
			str_add_char(out, '\n');
		}
	}
}

static void explain_denials(struct str *out, const struct value *denials)
{
	for (size_t i = 0; i < denials->many.count && i < DENIALS_EXPLAINED; i++) {
		str_add(out, "- it was refused: ");
		add_denial(out, denials->many.items[i]);
		str_add_char(out, '\n');
	}
	if (denials->many.count > DENIALS_EXPLAINED)
		str_addf(out, "- and %zu more refusals\n", denials->many.count - DENIALS_EXPLAINED);
}

static void explain(struct str *out, const struct value *run)
{
	const struct value *changes = value_get(run, "changes");
	const struct value *degraded = list_of(run, "degraded");
	const char *sandbox = value_get_text(run, "sandbox");
	int64_t added = value_int_of(changes, "added"),
		modified = value_int_of(changes, "modified"),
		deleted = value_int_of(changes, "deleted");

	str_add(out, "Started ");
	words_add_age(out, words_moment(run, "started"));
	str_add(out, " in the sandbox ");
	words_add_line(out, sandbox ? sandbox : "-");
	str_add(out, ":\n  ");
	words_add_command(out, list_of(run, "command"), COMMAND_SHOWN);
	str_add_char(out, '\n');
	explain_end(out, run);
	explain_said(out, run);
	explain_denials(out, list_of(run, "denials"));
	if (is_running(run))
		return;
	if (added + modified + deleted == 0)
		str_add(out, "It changed no file of the workspace.\n");
	else
		str_addf(out,
			 "In its sandbox it added %lld, modified %lld and deleted %lld files of "
			 "the workspace; yours change by promote only.\n",
			 (long long)added, (long long)modified, (long long)deleted);
	if (degraded->many.count > 0) {
		str_add(out, "Not in full force were: ");
		add_texts(out, degraded);
		str_add(out, " (aisbx doctor says why).\n");
	}
	if (value_int_of(run, "stdout_bytes") + value_int_of(run, "stderr_bytes") > 0)
		str_addf(out, "What it wrote: aisbx logs %s\n", value_get_text(run, "run_id"));
}

static int read_run(struct op_call *call, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	char run_id[27];

	if (call->words.count != 1)
		return error_advise(err, ERROR_USAGE, "`aisbx history` lists them",
				    "%s takes one run: aisbx %s RUN", call->op->name,
				    call->op->name);
	return app_history(&history, err) < 0 ||
			       history_find(history, call->words.items[0], op_sees(call), run_id,
					    err) < 0 ||
			       history_show(history, run_id, &call->answer, err) < 0
		       ? -1
		       : 0;
}

int op_show_run(struct op_call *call, struct error *err)
{
	if (read_run(call, err) < 0)
		return -1;
	if (!call->json)
		show(&call->text, call->answer);
	return 0;
}

int op_explain_run(struct op_call *call, struct error *err)
{
	owned(str_done) struct str words = STR_INIT;
	struct value *answer;

	if (read_run(call, err) < 0)
		return -1;
	explain(&words, call->answer);
	answer = value_new_map();
	value_add(answer, "run_id", value_new_text(value_get_text(call->answer, "run_id")));
	value_add(answer, "status", value_new_text(value_get_text(call->answer, "status")));
	value_add(answer, "explanation", value_new_text(str_cstr(&words)));
	value_free(call->answer);
	call->answer = answer;
	str_add(&call->text, str_cstr(&words));
	return 0;
}
