/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts: ways of working with sandboxes that are worth suggesting. */
#include "base/core/own.h"
#include "front/mcp/resources.h"

#include <stdio.h>
#include <string.h>

struct prompt {
	const char *name, *title, *description;
	const char *argument, *about;
	bool needs_argument;
	const char *text; /* %s is the argument */
};

static const struct prompt rows[] = {
	{ "safe_change", "Make a change safely",
	  "Work on a task in a sandbox, checked before it is proposed", "task",
	  "what is to be done", true,
	  "Task: %s\n\n"
	  "Work in a sandbox: sandbox_create, then sandbox_exec and sandbox_files_*. Write the "
	  "steps down with "
	  "plan_create. Save with sandbox_snapshot before anything risky and go back with "
	  "sandbox_rollback. When the "
	  "project's tests pass (task with intent test), look at sandbox_diff, then ask with "
	  "promote_request and say "
	  "why. Do not touch anything the task does not need." },
	{ "compare_ways", "Try several ways and compare",
	  "Race different solutions against one check", "problem", "what is to be solved", true,
	  "Problem: %s\n\n"
	  "Think of two to four different ways. Write a check that tells a good solution from a "
	  "bad one. Call race with "
	  "one attempt per way and that check. Compare the winner's sandbox_diff with the others', "
	  "and say why it is "
	  "the best before you call promote_request on it." },
	{ "review_changes", "Review what a sandbox changed",
	  "Look at a sandbox's changes before they are applied", "sandbox", "name of the sandbox",
	  true,
	  "Review the sandbox %s. Read sandbox_diff and sandbox_status. For each file: is the "
	  "change needed, is it "
	  "right, could it make something run on this machine (hooks, build files, CI, shell start "
	  "files)? Check "
	  "gate_check with tests==pass where the profile has tests. End with: apply, apply in part "
	  "(which paths), or "
	  "do not apply." },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

void prompts_list(const struct request_view *request)
{
	struct value *result = value_new_map(), *list;
	size_t from, to;

	if (!request_page(request, ROWS, &from, &to, result))
		return;
	list = value_add(result, "prompts", value_new_list());
	for (size_t i = from; i < to; i++) {
		struct value *item = value_append(list, value_new_map()), *argument;

		value_add(item, "name", value_new_text(rows[i].name));
		value_add(item, "title", value_new_text(rows[i].title));
		value_add(item, "description", value_new_text(rows[i].description));
		argument = value_append(value_add(item, "arguments", value_new_list()),
					value_new_map());
		value_add(argument, "name", value_new_text(rows[i].argument));
		value_add(argument, "description", value_new_text(rows[i].about));
		value_add(argument, "required", value_new_bool(rows[i].needs_argument));
	}
	request_answer(request, result, true);
}

/* The text with the client's words in place of %s. */
static void fill(const struct prompt *prompt, const char *words, struct str *out)
{
	const char *hole = strstr(prompt->text, "%s");

	str_add_bytes(out, prompt->text, (size_t)(hole - prompt->text));
	str_add(out, words);
	str_add(out, hole + 2);
}

void prompts_get(const struct request_view *request)
{
	const char *name = request->params ? value_get_text(request->params, "name") : NULL;
	const struct value *arguments = name ? value_get(request->params, "arguments") : NULL;
	owned(str_done) struct str text = STR_INIT;
	const struct prompt *prompt = NULL;
	const char *words;
	struct value *result, *message, *content;

	for (size_t i = 0; name && i < ROWS; i++) {
		if (strcmp(rows[i].name, name) == 0)
			prompt = &rows[i];
	}
	words = prompt && arguments && arguments->kind == VALUE_MAP
			? value_get_text(arguments, prompt->argument)
			: NULL;
	if (!prompt || !words) {
		request_fail(request, RPC_INVALID_PARAMS,
			     prompt ? "the prompt's argument is missing" : "no such prompt", NULL);
		return;
	}
	fill(prompt, words, &text);
	result = value_new_map();
	value_add(result, "description", value_new_text(prompt->description));
	message = value_append(value_add(result, "messages", value_new_list()), value_new_map());
	value_add(message, "role", value_new_text("user"));
	content = value_add(message, "content", value_new_map());
	value_add(content, "type", value_new_text("text"));
	value_add(content, "text", value_new_text(str_cstr(&text)));
	request_answer(request, result, false);
}
