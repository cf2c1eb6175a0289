/* SPDX-License-Identifier: Apache-2.0 */
/* `setup`: registers aisbx with a coding agent, in the files it reads; and takes that back. */
#include "base/core/own.h"
#include "app/agent/setup.h"
#include "ops/rows/rows.h"
#include "ops/verbs/run/op_write.h"
#include "ops/text/words.h"

#include <string.h>

static bool is_agent(const char *name)
{
	for (const struct setup_row *row = setup_rows; row->agent; row++) {
		if (strcmp(row->agent, name) == 0)
			return true;
	}
	return false;
}

static void report_files(struct op_call *call, const struct setup *setup)
{
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const char *state = value_get_text(row, "state");

		if (setup->dry_run) {
			str_add(&call->text, "--- ");
			words_add_path(&call->text, value_get_text(row, "file"));
			str_add(&call->text, "\n+++ ");
			words_add_path(&call->text, value_get_text(row, "file"));
			str_addf(&call->text, "\n%s", value_get_text(row, "diff"));
			continue;
		}
		str_addf(&call->text, "%s ", strcmp(state, "removed") == 0 ? "taken back:" : state);
		words_add_path(&call->text, value_get_text(row, "file"));
		str_add_char(&call->text, '\n');
	}
}

static void report_covers(struct op_call *call, const struct setup *setup)
{
	bool any = !setup->parts[SETUP_MCP] && !setup->parts[SETUP_HOOK];

	for (enum setup_part part = 0; part < SETUP_PARTS; part++) {
		const char *words = setup_covers(setup->agent, part);

		if (!words || !(any || setup->parts[part]))
			continue;
		/* Beside the hook, what the server alone does not cover is beside the point. */
		if (part == SETUP_MCP && (any || setup->parts[SETUP_HOOK]) &&
		    setup_covers(setup->agent, SETUP_HOOK))
			continue;
		str_addf(&call->notes, "%s: %s\n", setup->agent, words);
	}
}

int op_setup_run(struct op_call *call, struct error *err)
{
	struct setup setup = { .parts = { op_arg_switch(call, "mcp"), op_arg_switch(call, "hook") },
			       .is_project = op_arg_switch(call, "project"),
			       .is_removal = op_arg_switch(call, "remove"),
			       .dry_run = op_arg_switch(call, "dry-run") };
	char shown[STR_SHOWN_SIZE];

	if (op_want_words(call, setup.is_removal ? 0 : 1, 1, err) < 0 ||
	    op_write_wanted(call, &setup.writes, err) < 0)
		return -1;
	setup.agent = call->words.count > 0 ? call->words.items[0] : NULL;
	if (setup.agent && !is_agent(setup.agent))
		return error_set(err, ERROR_USAGE,
				 "'%s' is no agent known here: claude-code, codex, cursor, gemini, "
				 "opencode, goose, aider",
				 str_shown(setup.agent, shown));
	if (setup_agent(&setup, &call->answer, err) < 0)
		return -1;
	if (!call->json)
		report_files(call, &setup);
	call->is_patch = setup.dry_run;
	if (call->answer->many.count == 0)
		str_add(&call->text, "setup wrote nothing that could be taken back\n");
	if (!setup.is_removal)
		report_covers(call, &setup);
	return 0;
}
