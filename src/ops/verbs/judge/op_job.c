/* SPDX-License-Identifier: Apache-2.0 */
/* `job`: unattended work added, looked at, run, paused, removed; and the scheduler in the foreground. */
#include "app/job/job.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

static const char *name_of(const struct op_call *call)
{
	return call->words.items[1];
}

static void report_run(struct op_call *call, const struct value *row)
{
	static const char *const keys[] = { "error", "note", NULL };
	const char *request = value_get_text(row, "request_id");
	const char *promotion = value_get_text(row, "promotion_id");

	str_addf(&call->text, "%s", value_get_text(row, "result"));
	if (value_get_text(row, "run_id"))
		str_addf(&call->text, "  run %s", value_get_text(row, "run_id"));
	str_add_char(&call->text, '\n');
	for (const char *const *key = keys; *key; key++) {
		if (value_get_text(row, *key))
			str_addf(&call->text, "%s\n", value_get_text(row, *key));
	}
	if (promotion)
		str_addf(&call->text, "take it back with: aisbx undo %s\n", promotion);
	else if (request)
		str_addf(&call->text, "a person decides: aisbx promotions approve %s\n", request);
}

static int add(struct op_call *call, struct error *err)
{
	if (app_job_add(name_of(call), call->environ, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "added %s: %s, in ", value_get_text(call->answer, "name"),
		 value_get_text(call->answer, "when"));
	words_add_path(&call->text, value_get_text(call->answer, "workspace"));
	str_add_char(&call->text, '\n');
	return 0;
}

static int list(struct op_call *call, struct error *err)
{
	return app_job_list(call->environ, &call->answer, err);
}

static int show(struct op_call *call, struct error *err)
{
	static const char *const keys[] = { "when", "state", "next", "workspace", NULL };
	const struct value *runs;

	if (app_job_show(name_of(call), call->environ, &call->answer, err) < 0)
		return -1;
	runs = value_get(call->answer, "runs");
	for (const char *const *key = keys; *key; key++) {
		const char *text = value_get_text(call->answer, *key);

		str_addf(&call->text, "%-10s %s\n", *key, text ? text : "-");
	}
	if (value_get(call->answer, "pid"))
		str_addf(&call->text, "%-10s %lld\n", "pid",
			 (long long)value_int_of(call->answer, "pid"));
	str_addf(&call->text, "\n%s\n", value_get_text(call->answer, "text"));
	for (size_t i = 0; i < runs->many.count; i++) {
		const struct value *row = runs->many.items[i];

		str_addf(&call->text, "%s  %s  ", value_get_text(row, "started"),
			 value_get_text(row, "why"));
		report_run(call, row);
	}
	return 0;
}

static int run(struct op_call *call, struct error *err)
{
	bool pass = false;

	if (app_job_run(name_of(call), op_arg_switch(call, "force"), call->environ, &call->answer,
			&pass, err) < 0)
		return -1;
	report_run(call, call->answer);
	call->exit_status = pass ? 0 : 1;
	return 0;
}

static int answer_name(struct op_call *call, const char *what)
{
	call->answer = value_new_map();
	value_add(call->answer, "name", value_new_text(name_of(call)));
	str_addf(&call->text, "%s %s\n", what, name_of(call));
	return 0;
}

static int drop(struct op_call *call, struct error *err)
{
	return app_job_remove(name_of(call), call->environ, err) < 0 ? -1
								     : answer_name(call, "removed");
}

static int halt(struct op_call *call, struct error *err)
{
	return app_job_pause(name_of(call), true, call->environ, err) < 0
		       ? -1
		       : answer_name(call, "paused");
}

static int resume(struct op_call *call, struct error *err)
{
	return app_job_pause(name_of(call), false, call->environ, err) < 0
		       ? -1
		       : answer_name(call, "resumed");
}

static int stop(struct op_call *call, struct error *err)
{
	if (app_job_stop(name_of(call), call->environ, &call->answer, err) < 0)
		return -1;
	report_run(call, call->answer);
	return 0;
}

static int watch(struct op_call *call, struct error *err)
{
	const struct job_reporter reporter = { op_note_line, call };

	return app_job_watch(call->environ, &reporter, err);
}

static const struct {
	const char *word;
	size_t names;
	int (*run)(struct op_call *call, struct error *err);
} verbs[] = {
	{ "add", 1, add },	 { "ls", 0, list },   { "show", 1, show },
	{ "run", 1, run },	 { "rm", 1, drop },   { "pause", 1, halt },
	{ "resume", 1, resume }, { "stop", 1, stop }, { "watch", 0, watch },
};

int op_job_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "ls";
	size_t names = call->words.count > 0 ? call->words.count - 1 : 0;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].word, word) != 0)
			continue;
		if (names != verbs[i].names)
			return op_want_words(call, verbs[i].names + 1, verbs[i].names + 1, err);
		if (op_arg_switch(call, "force") && verbs[i].run != run)
			return error_set(err, ERROR_USAGE, "--force is for job run");
		return verbs[i].run(call, err);
	}
	return error_advise(err, ERROR_USAGE,
			    "it is add, ls, show, run, stop, rm, pause, resume or watch",
			    "job: unknown '%s'", str_shown(word, shown));
}
