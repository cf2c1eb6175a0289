/* SPDX-License-Identifier: Apache-2.0 */
/* `mount`: what every sandbox of a workspace sees, read-only, besides the machine's own files. */
#include "app/sandbox/mounts.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

static void show_mounts(struct op_call *call)
{
	static const char *const keys[] = { "guest", "host", "mode" };
	owned(strv_done) struct strv cells = STRV_INIT;
	struct str cell = STR_INIT;

	strv_add(&cells, "INSIDE");
	strv_add(&cells, "HOST");
	strv_add(&cells, "MODE");
	for (size_t i = 0; i < call->answer->many.count; i++) {
		for (size_t j = 0; j < 3; j++) {
			words_add_path(&cell, value_get_text(call->answer->many.items[i], keys[j]));
			strv_take(&cells, str_detach(&cell));
		}
	}
	words_add_table(&call->text, &cells, 3);
}

int op_mount_run(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	const struct app_mounts wish = { op_arg_text(call, "workspace"), op_arg_list(call, "ro"),
					 op_arg_list(call, "rm"), &notes };

	if (op_want_words(call, 0, 0, err) < 0 || app_mounts(&wish, &call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text,
			"no mounts are kept here (aisbx mount --ro SRC:DST keeps one)\n");
	else
		show_mounts(call);
	for (size_t i = 0; i < notes.count; i++)
		str_addf(&call->notes, "%s\n", notes.items[i]);
	if (wish.show || wish.drop)
		str_add(&call->notes,
			"sandboxes that run already follow at their next start (aisbx "
			"stop NAME)\n");
	return 0;
}
