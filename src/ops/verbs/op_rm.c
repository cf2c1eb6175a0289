/* SPDX-License-Identifier: Apache-2.0 */
/* `rm`: removes sandboxes; those that are there go, even when others are missing. */
#include "app/change/workspace.h"
#include "base/clean_path.h"
#include "base/own.h"
#include "base/wildcard.h"
#include "ops/rows/rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The status of the first failure is the verb's; what was missing counts least. */
static void fold_status(struct op_call *call, const struct error *err)
{
	int status = error_exit_status(err->code);

	if (call->exit_status == 0 || call->exit_status == error_exit_status(ERROR_NOT_FOUND))
		call->exit_status = status;
}

static void remove_one(struct op_call *call, const char *name)
{
	struct value *row = value_append(call->answer, value_new_map());
	struct error err;
	bool removed = engine_remove(name, &err) == 0;

	value_add(row, "name", value_new_text(name));
	value_add(row, "removed", value_new_bool(removed));
	if (removed) {
		str_addf(&call->text, "removed %s\n", name);
		return;
	}
	struct value *error = value_add(row, "error", value_new_map());

	value_add(error, "code", value_new_text(error_code_name(err.code)));
	value_add(error, "message", value_new_text(err.text));
	str_addf(&call->notes, "%s\n", err.text);
	fold_status(call, &err);
}

/* Other words are names, and refused as such when no sandbox can be called that. */
static bool is_pattern(const char *word)
{
	return strpbrk(word, "*?[") &&
	       word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789._-*?[]!^")] == '\0';
}

/* Whether ROW of the list is meant by --all or --workspace (HERE), or by PATTERN. A program's sandboxes are its own. */
static bool is_meant(const struct op_call *call, const struct value *row, const char *here,
		     const char *pattern)
{
	const char *owner = value_get_text(row, "owner"), *base = value_get_text(row, "base");
	const char *seen = op_sees(call);

	if (seen ? !owner || strcmp(owner, seen) != 0 : owner != NULL)
		return false;
	if (pattern)
		return wildcard_matches(pattern, value_get_text(row, "name"), 0);
	return !here || (base && path_is_within(here, base));
}

static void add_meant(const struct op_call *call, const struct value *list, const char *here,
		      const char *pattern, struct strv *names)
{
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *row = list->many.items[i];
		const char *name = value_get_text(row, "name");

		if (is_meant(call, row, here, pattern) && !strv_has(names, name))
			strv_add(names, name);
	}
}

/* Those of the words, patterns among them, and of --all or --workspace. */
static int find_names(const struct op_call *call, struct strv *names, struct error *err)
{
	owned(value_release) struct value *list = NULL;
	bool is_here = op_arg_switch(call, "workspace"), is_all = op_arg_switch(call, "all");
	owned(free_ptr) char *here = is_here ? getcwd(NULL, 0) : NULL;

	if (is_here && !here)
		return error_errno(err, ERROR_HOST, "the current directory");
	if (engine_list(&list, err) < 0)
		return -1;
	for (size_t i = 0; i < call->words.count; i++) {
		const char *word = call->words.items[i];

		if (is_pattern(word))
			add_meant(call, list, NULL, word, names);
		else
			strv_add(names, word);
	}
	if (is_here || is_all)
		add_meant(call, list, is_all ? NULL : here, NULL, names);
	return 0;
}

static int agree(struct op_call *call, const struct strv *names, struct error *err)
{
	char question[80];

	if (op_arg_switch(call, "yes"))
		return 0;
	if (!call->ask)
		return error_set(err, ERROR_USAGE,
				 "this would remove %zu sandbox%s: say so with --yes", names->count,
				 names->count == 1 ? "" : "es");
	for (size_t i = 0; i < names->count; i++)
		str_addf(&call->text, "%s\n", names->items[i]);
	(void)snprintf(question, sizeof(question),
		       "Remove them, %zu in all? [y]es or [n]o: ", names->count);
	return call->ask(call, question) == 'y'
		       ? 0
		       : error_set(err, ERROR_CONSENT, "nothing was removed");
}

int op_rm_run(struct op_call *call, struct error *err)
{
	bool is_sweep = op_arg_switch(call, "all") || op_arg_switch(call, "workspace");
	owned(strv_done) struct strv names = STRV_INIT;

	if (op_want_words(call, is_sweep ? 0 : 1, is_sweep ? 0 : SIZE_MAX, err) < 0 ||
	    find_names(call, &names, err) < 0)
		return -1;
	if (is_sweep && names.count > 0 && agree(call, &names, err) < 0)
		return -1;
	call->answer = value_new_list();
	for (size_t i = 0; i < names.count; i++)
		remove_one(call, names.items[i]);
	if (names.count == 0)
		str_add(&call->notes, "no sandbox is meant by that\n");
	return 0;
}
