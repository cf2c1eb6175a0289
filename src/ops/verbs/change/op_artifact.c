/* SPDX-License-Identifier: Apache-2.0 */
/* `artifact save|ls|show|get|rm`: build outputs that outlive their sandbox. */
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/change/artifact.h"
#include "app/record/history.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

/* Of one file; more is for artifact get. */
#define SHOWN_MAX ((size_t)4 << 20)

static int save(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	const char *most = op_arg_text(call, "max");
	int64_t bytes_max = (int64_t)ARTIFACT_BYTES_MAX;

	if (most && units_size("--max", most, &bytes_max, err) < 0)
		return -1;
	for (size_t i = 2; i < call->words.count; i++) {
		owned(free_ptr) char *path = words_read_path(call->words.items[i]);

		strv_add(&paths, path ? path : call->words.items[i]);
	}
	if (app_artifact_save(call->words.items[1], &paths, (uint64_t)bytes_max, &call->answer,
			      err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		int64_t size = 0, left_out = value_int_of(row, "left_out");

		(void)value_get_int(row, "size", &size);
		str_addf(&call->text, "%s  ", value_get_text(row, "artifact_id"));
		words_add_path(&call->text, value_get_text(row, "path"));
		str_add(&call->text, "  ");
		words_add_size(&call->text, size);
		str_addf(&call->text, "  sha256 %.12s\n", value_get_text(row, "sha256"));
		if (left_out > 0)
			str_addf(&call->notes, "%lld sockets, pipes or devices were left out\n",
				 (long long)left_out);
	}
	return 0;
}

/* A program that calls gets to see what came of its own runs only. */
static bool is_seen(const struct op_call *call, struct history *history, const struct value *record)
{
	const char *run_id = value_get_text(record, "run_id");
	struct error ignored;

	return run_id && history_owned(history, run_id, op_sees(call), &ignored) == 0;
}

static int list(struct op_call *call, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	struct value *rows;
	size_t kept = 0;

	if (app_artifact_list(&call->answer, err) < 0)
		return -1;
	if (!op_sees(call))
		return 0;
	if (app_history(&history, err) < 0)
		return -1;
	rows = call->answer;
	for (size_t i = 0; i < rows->many.count; i++) {
		if (is_seen(call, history, rows->many.items[i]))
			rows->many.items[kept++] = rows->many.items[i];
		else
			value_free(rows->many.items[i]);
	}
	rows->many.count = kept;
	return 0;
}

/* The command to repeat; the --allow flags are added behind it. */
static void add_again(struct str *out, const struct app_artifact_get *wish)
{
	str_addf(out, "aisbx artifact get %s ", wish->id);
	words_add_shell(out, wish->dst);
	if (wish->force)
		str_add(out, " --force");
}

static int get(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv allowed = STRV_INIT;
	owned(str_done) struct str again = STR_INIT;
	const struct app_artifact_get wish = {
		.id = call->words.items[1],
		.dst = call->words.items[2],
		.force = op_arg_switch(call, "force"),
		.allow_paths = &allowed,
		.allow_privilege = op_arg_switch(call, "allow-privilege"),
		.allow_special = op_arg_switch(call, "allow-special"),
	};
	int outcome;

	if (op_read_paths(op_arg_list(call, "allow-path"), 0, &allowed, err) < 0)
		return -1;
	outcome = app_artifact_get(&wish, &call->answer, err);
	if (outcome < 0) {
		add_again(&again, &wish);
		outcome = op_promotion(call, call->answer, outcome, str_cstr(&again), err);
		call->exit_status = outcome;
		return outcome < 0 ? -1 : 0;
	}
	str_addf(&call->text, "%s written to ", value_get_text(call->answer, "artifact_id"));
	words_add_path(&call->text, value_get_text(call->answer, "path"));
	str_add_char(&call->text, '\n');
	if (value_get_text(call->answer, "undo"))
		str_addf(&call->text, "take it back with: %s\n",
			 value_get_text(call->answer, "undo"));
	return 0;
}

/* Another owner's artifact is reported as not found. */
static int check_seen(const struct op_call *call, const struct value *record, struct error *err)
{
	owned(history_release) struct history *history = NULL;

	if (!op_sees(call))
		return 0;
	if (app_history(&history, err) < 0)
		return -1;
	if (is_seen(call, history, record))
		return 0;
	return error_set(err, ERROR_NOT_FOUND, "no artifact '%s'", call->words.items[1]);
}

/* {..., content, encoding} of a file, {..., entries} of a directory, {..., link} of a link in one. */
static int show(struct op_call *call, struct error *err)
{
	const char *path = call->words.count > 2 ? call->words.items[2] : NULL;
	owned(str_done) struct str bytes = STR_INIT;
	const char *kind;

	if (app_artifact_read(call->words.items[1], path, SHOWN_MAX, &call->answer, &bytes, err) <
	    0)
		return -1;
	if (check_seen(call, call->answer, err) < 0) {
		value_free(call->answer);
		call->answer = NULL;
		return -1;
	}
	kind = value_get_text(call->answer, "kind");
	if (!path && kind && strcmp(kind, "directory") == 0) {
		json_write(&call->text, call->answer, 2);
		str_add_char(&call->text, '\n');
		return 0;
	}
	value_free(value_take(call->answer, "entries"));
	if (value_get_text(call->answer, "link")) {
		str_add(&call->text, "a symbolic link to ");
		words_add_path(&call->text, value_get_text(call->answer, "link"));
		str_add_char(&call->text, '\n');
		return 0;
	}
	op_report_content(call, &bytes, false);
	return 0;
}

static int forget(struct op_call *call, struct error *err)
{
	if (app_artifact_remove(call->words.items[1], &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "forgot %s\n", value_get_text(call->answer, "artifact_id"));
	return 0;
}

int op_artifact_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "";
	size_t count = call->words.count;

	if (strcmp(word, "save") == 0 && count >= 3)
		return save(call, err);
	if (strcmp(word, "ls") == 0 && count == 1)
		return list(call, err);
	if (strcmp(word, "get") == 0 && count == 3)
		return get(call, err);
	if (strcmp(word, "show") == 0 && (count == 2 || count == 3))
		return show(call, err);
	if (strcmp(word, "rm") == 0 && count == 2)
		return forget(call, err);
	return error_set(err, ERROR_USAGE,
			 "write aisbx artifact save NAME PATH..., artifact ls, artifact show ID "
			 "[PATH], artifact get ID DST or artifact rm ID");
}
