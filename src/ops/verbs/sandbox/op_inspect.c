/* SPDX-License-Identifier: Apache-2.0 */
/* `inspect`: everything about one sandbox, on a page. */
#include "base/core/own.h"
#include "app/change/workspace.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#define COMMAND_SHOWN 60

static void add_label(struct str *out, const char *title)
{
	str_addf(out, "%-11s", title);
}

static void add_field(struct str *out, const char *title, const struct value *row, const char *key)
{
	const char *text = value_get_text(row, key);

	if (!text)
		return;
	add_label(out, title);
	words_add_line(out, text);
	str_add_char(out, '\n');
}

static void add_moment(struct str *out, const char *title, const struct value *row, const char *key)
{
	if (!value_get_text(row, key))
		return;
	add_label(out, title);
	str_addf(out, "%s (", value_get_text(row, key));
	words_add_age(out, words_moment(row, key));
	str_add(out, ")\n");
}

static void add_settings(struct str *out, const struct value *settings)
{
	if (!settings || settings->many.count == 0)
		return;
	add_label(out, "made with");
	for (size_t i = 0; i < settings->many.count; i++) {
		str_add(out, i ? " " : "");
		words_add_line(out, settings->many.items[i]->text.bytes);
	}
	str_add_char(out, '\n');
}

static void add_processes(struct str *out, const struct value *processes)
{
	for (size_t i = 0; i < processes->many.count; i++) {
		const struct value *one = processes->many.items[i];
		int64_t pid = 0;

		(void)value_get_int(one, "pid", &pid);
		add_label(out, i ? "" : "processes");
		str_addf(out, "%lld  ", (long long)pid);
		words_add_line(out, value_get_text(one, "command") ? value_get_text(one, "command")
								   : "");
		str_add_char(out, '\n');
	}
}

static void add_execs(struct str *out, const struct value *execs)
{
	for (size_t i = 0; i < execs->many.count; i++) {
		const struct value *one = execs->many.items[i];

		add_label(out, i ? "" : "execs");
		str_addf(out, "%s  ", value_get_text(one, "exec_id"));
		words_add_command(out, value_get(one, "command"), COMMAND_SHOWN);
		str_add_char(out, '\n');
	}
}

int op_inspect_run(struct op_call *call, struct error *err)
{
	struct str *out = &call->text;
	int64_t disk = 0, snapshots = 0;

	if (op_want_words(call, 1, 1, err) < 0 ||
	    app_inspect(call->words.items[0], &call->answer, err) < 0)
		return -1;
	(void)value_get_int(call->answer, "disk_bytes", &disk);
	(void)value_get_int(call->answer, "snapshots", &snapshots);
	add_field(out, "name", call->answer, "name");
	add_field(out, "state", call->answer, "state");
	add_field(out, "workspace", call->answer, "workspace");
	add_field(out, "root", call->answer, "root");
	add_moment(out, "created", call->answer, "created");
	add_moment(out, "the host of", call->answer, "base_taken");
	if (value_get_text(call->answer, "expires")) {
		add_label(out, "expires");
		words_add_left(out, words_moment(call->answer, "expires"));
		str_addf(out, " (%s)\n", value_get_text(call->answer, "expires"));
	}
	add_field(out, "stands on", call->answer, "snapshot");
	add_label(out, "snapshots");
	str_addf(out, "%lld\n", (long long)snapshots);
	add_label(out, "changes");
	op_add_changes(out, call->answer);
	str_add_char(out, '\n');
	add_label(out, "disk");
	words_add_size(out, disk);
	str_add_char(out, '\n');
	add_settings(out, value_get(call->answer, "settings"));
	add_processes(out, value_get(call->answer, "processes"));
	add_execs(out, value_get(call->answer, "execs"));
	return 0;
}
