/* SPDX-License-Identifier: Apache-2.0 */
/* `stage run|status|approve`: a change through the stages of a pipeline. */
#include "base/core/own.h"
#include "app/stage/stage.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_NAME 12 /* of a bundle, for people */

static void show_progress(const char *stage, const char *state, void *cookie)
{
	struct op_call *call = cookie;
	owned(free_ptr) char *what = xasprintf("%s: %s", stage, state);

	call->progress(what);
}

static void report_bundle(struct str *out, const struct value *answer)
{
	const struct value *stages = value_get(answer, "stages");
	owned(strv_done) struct strv cells = STRV_INIT;

	str_addf(out, "bundle %.*s of ", SHORT_NAME, value_get_text(answer, "bundle"));
	words_add_line(out, value_get_text(answer, "sandbox"));
	str_add_char(out, '\n');
	strv_add(&cells, "STAGE");
	strv_add(&cells, "STATE");
	strv_add(&cells, "TARGET");
	for (size_t i = 0; i < stages->many.count; i++) {
		const struct value *row = stages->many.items[i];

		strv_add(&cells, value_get_text(row, "name"));
		strv_add(&cells, value_get_text(row, "state"));
		strv_add(&cells, value_get_text(row, "target"));
	}
	words_add_table(out, &cells, 3);
	for (size_t i = 0; i < stages->many.count; i++) {
		const struct value *row = stages->many.items[i];
		const char *reason = value_get_text(row, "reason");
		const char *undo = value_get_text(row, "undo");
		int64_t ignored = value_int_of(row, "ignored");

		if (reason) {
			str_addf(out, "%s: ", value_get_text(row, "name"));
			words_add_line(out, reason);
			str_add_char(out, '\n');
		}
		if (ignored > 0)
			str_addf(out,
				 "%s: %lld change%s left out because git ignores them (--ignored "
				 "applies them)\n",
				 value_get_text(row, "name"), (long long)ignored,
				 ignored == 1 ? "" : "s");
		if (undo)
			str_addf(out, "take %s back with: %s\n", value_get_text(row, "name"), undo);
	}
}

static int run(struct op_call *call, struct error *err)
{
	struct app_stage stage = { .sandbox = call->words.items[1],
				   .file = op_arg_text(call, "file"),
				   .to = op_arg_text(call, "to"),
				   .allow_paths = op_arg_list(call, "allow-path"),
				   .ignored = op_arg_switch(call, "ignored"),
				   .commits = op_arg_switch(call, "commits"),
				   .environ = call->environ,
				   .progress = call->progress ? show_progress : NULL,
				   .cookie = call };
	int status;

	if (call->ceiling) {
		stage.owner = call->ceiling->owner;
		stage.owner_bytes = call->ceiling->owner_bytes;
	}
	status = app_stage_run(&stage, &call->answer, err);
	if (call->progress)
		call->progress(NULL);
	if (!call->answer)
		return -1;
	if (!call->json)
		report_bundle(&call->text, call->answer);
	/* How far it came is an answer; that it went no further stands beside it. */
	if (status < 0)
		str_addf(&call->notes, "%s\n", err->text);
	call->exit_status = status < 0
				    ? error_exit_status(err->code)
				    : strcmp(value_get_text(call->answer, "outcome"), "live") != 0;
	return 0;
}

static int status(struct op_call *call, struct error *err)
{
	const char *bundle = call->words.count > 1 ? call->words.items[1] : NULL;

	if (app_stage_status(bundle, &call->answer, err) < 0)
		return -1;
	if (call->json)
		return 0;
	if (bundle)
		report_bundle(&call->text, call->answer);
	for (size_t i = 0; !bundle && i < call->answer->many.count; i++) {
		if (i > 0)
			str_add_char(&call->text, '\n');
		report_bundle(&call->text, call->answer->many.items[i]);
	}
	if (!bundle && call->answer->many.count == 0)
		str_add(&call->text, "nothing was staged yet\n");
	return 0;
}

static int approve(struct op_call *call, struct error *err)
{
	/* The word of a person outside; what runs in a sandbox is what it is about. */
	if (getenv("AISBX_SANDBOX"))
		return error_set(err, ERROR_DENIED, "approvals are not given in a sandbox");
	if (app_stage_approve(call->words.items[1], call->words.items[2], &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "bundle %.*s may enter %s\n", SHORT_NAME,
		 value_get_text(call->answer, "bundle"), value_get_text(call->answer, "stage"));
	return 0;
}

int op_stage_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "";
	size_t count = call->words.count;

	if (strcmp(word, "run") == 0 && count == 2)
		return run(call, err);
	if (strcmp(word, "status") == 0 && count <= 2)
		return status(call, err);
	if (strcmp(word, "approve") == 0 && count == 3)
		return approve(call, err);
	return error_set(
		err, ERROR_USAGE,
		"write aisbx stage run NAME, stage status [BUNDLE] or stage approve BUNDLE "
		"STAGE");
}
