/* SPDX-License-Identifier: Apache-2.0 */
/* `rm`: removes sandboxes; those that are there go, even when others are missing. */
#include "app/change/workspace.h"
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
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

/* What became of NAME; ERR is NULL when it is gone. */
static void add_outcome(struct op_call *call, const char *name, const struct error *err)
{
	struct value *row = value_append(call->answer, value_new_map());

	value_add(row, "name", value_new_text(name));
	value_add(row, "removed", value_new_bool(!err));
	if (!err) {
		str_addf(&call->text, "removed %s\n", name);
		return;
	}
	struct value *error = value_add(row, "error", value_new_map());

	value_add(error, "code", value_new_text(error_code_name(err->code)));
	value_add(error, "message", value_new_text(err->text));
	str_addf(&call->notes, "%s\n", err->text);
	fold_status(call, err);
}

static void remove_one(struct op_call *call, const char *name)
{
	struct error err;

	add_outcome(call, name, app_remove(name, &err) < 0 ? &err : NULL);
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

static void add_new(const struct strv *found, struct strv *names)
{
	for (size_t i = 0; i < found->count; i++) {
		if (!strv_has(names, found->items[i]))
			strv_add(names, found->items[i]);
	}
}

/* Those of the words, patterns among them, and of --all or --workspace; a pattern that covers none goes to RET_EMPTY. */
static int find_names(const struct op_call *call, struct strv *names, struct strv *ret_empty,
		      struct error *err)
{
	owned(value_release) struct value *list = NULL;
	bool is_here = op_arg_switch(call, "workspace"), is_all = op_arg_switch(call, "all");
	owned(free_ptr) char *here = is_here ? getcwd(NULL, 0) : NULL;

	if (is_here && !here)
		return error_errno(err, ERROR_HOST, "the current directory");
	if (app_list(&list, err) < 0)
		return -1;
	for (size_t i = 0; i < call->words.count; i++) {
		const char *word = call->words.items[i];

		owned(strv_done) struct strv found = STRV_INIT;

		if (is_pattern(word))
			add_meant(call, list, NULL, word, &found);
		else
			strv_add(&found, word);
		if (found.count == 0)
			strv_add(ret_empty, word);
		add_new(&found, names);
	}
	if (is_here || is_all)
		add_meant(call, list, is_all ? NULL : here, NULL, names);
	return 0;
}

static bool has_pattern(const struct op_call *call)
{
	for (size_t i = 0; i < call->words.count; i++) {
		if (is_pattern(call->words.items[i]))
			return true;
	}
	return false;
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
	owned(strv_done) struct strv names = STRV_INIT, empty = STRV_INIT;
	struct error none;

	if (op_want_words(call, is_sweep ? 0 : 1, is_sweep ? 0 : SIZE_MAX, err) < 0 ||
	    find_names(call, &names, &empty, err) < 0)
		return -1;
	/* A shell hands a bare * down as it is where no file matches: it may not have been meant. */
	if ((is_sweep || has_pattern(call)) && names.count > 0 && agree(call, &names, err) < 0)
		return -1;
	call->answer = value_new_list();
	for (size_t i = 0; i < names.count; i++)
		remove_one(call, names.items[i]);
	for (size_t i = 0; i < empty.count; i++) {
		error_set(&none, ERROR_NOT_FOUND, "no sandbox matches '%s'", empty.items[i]);
		add_outcome(call, empty.items[i], &none);
	}
	if (names.count + empty.count == 0)
		str_add(&call->notes, "no sandbox is meant by that\n");
	return 0;
}
