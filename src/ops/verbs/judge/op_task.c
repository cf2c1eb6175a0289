/* SPDX-License-Identifier: Apache-2.0 */
/* `task`: one JSON object in, one out. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/trial/task.h"
#include "ops/rows/rows.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void show_task(struct op_call *call)
{
	const struct value *run = value_get(call->answer, "run");
	const struct value *tests = value_get(call->answer, "tests");
	const struct value *gates = value_get(call->answer, "gates");
	const char *sandbox = value_get_text(call->answer, "sandbox");

	str_addf(&call->text, "%s  the command: %s\n", value_get_text(call->answer, "verdict"),
		 value_get_text(run, "status"));
	for (size_t i = 0; i < tests->many.count; i++)
		str_addf(&call->text, "%-7s %s\n", value_get_text(tests->many.items[i], "status"),
			 value_get_text(tests->many.items[i], "command"));
	if (gates->many.count > 0)
		op_report_gates(&call->text, call->answer);
	str_addf(&call->text, "see what changed with: aisbx diff %s\n", sandbox);
}

int op_task_run(struct op_call *call, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	const char *file;
	bool pass;

	if (call->words.count != 1)
		return error_set(err, ERROR_USAGE, "write aisbx task FILE, or - for stdin");
	file = call->words.items[0];
	if (strcmp(file, "-") == 0) {
		if (fd_read_all(STDIN_FILENO, TASK_BYTES_MAX, &text) < 0)
			return error_errno(err, ERROR_INPUT, "stdin");
	} else if (file_read(AT_FDCWD, file, TASK_BYTES_MAX, &text, err) < 0) {
		return -1;
	}
	struct app_task task = {
		.text = str_cstr(&text), .len = text.len, .origin = file, .environ = call->environ
	};

	if (call->ceiling) {
		task.owner = call->ceiling->owner;
		task.owner_bytes = call->ceiling->owner_bytes;
		task.only_narrows = true;
		task.profiles = &call->ceiling->profiles.words;
		task.workspace = call->ceiling->workspace;
	}

	if (app_task(&task, &call->answer, &pass, err) < 0)
		return -1;
	if (!call->json)
		show_task(call);
	call->exit_status = pass ? 0 : 1;
	return 0;
}
