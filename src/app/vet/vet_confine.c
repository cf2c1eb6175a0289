/* SPDX-License-Identifier: Apache-2.0 */
/* What a signed script finds when it runs: programs and modules of the machine, none that lie about. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "app/vet/sign.h"
#include "plan/variables.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "spec/settings.h"

#include <string.h>

static bool is_system_place(const char *directory)
{
	static const char *const roots[] = { "/usr", "/bin", "/sbin", "/opt" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (path_is_within(directory, roots[i]) && !strstr(directory, "/.."))
			return true;
	}
	return false;
}

/* Of the PATH what is the machine's own: a signed script runs programs by their names. */
static void narrow_path(struct strv *env)
{
	static const char name[] = "PATH=";
	struct str path = STR_INIT;

	for (size_t i = 0; i < env->count; i++) {
		owned(free_ptr) char *list = NULL;
		char *rest = NULL;

		if (!str_starts(env->items[i], name))
			continue;
		list = xstrdup(env->items[i] + sizeof(name) - 1);
		for (char *one = strtok_r(list, ":", &rest); one;
		     one = strtok_r(NULL, ":", &rest)) {
			if (is_system_place(one))
				str_addf(&path, "%s%s", path.len ? ":" : "", one);
		}
		free(env->items[i]);
		env->items[i] =
			xasprintf("%s%s", name, path.len ? str_cstr(&path) : SETTINGS_PATH_DEFAULT);
		str_clear(&path);
	}
	str_done(&path);
}

static bool is_dropped(const struct vet_signed *what, const char *pair)
{
	size_t len = strcspn(pair, "=");

	if (str_starts(pair, "SHELL="))
		return !vet_program_is_system(what->view, pair + strlen("SHELL="));
	return what->set ? !vet_variable_is_allowed(pair, len)
			 : in_list_bytes(VET_DROPPED, pair, len);
}

/* Where a package client's configuration goes with them, another registry answers, or fewer hosts are believed: that is said. */
static void drop_variables(const struct vet_signed *what, struct strv *env, struct strv *notes)
{
	owned(str_done) struct str names = STR_INIT;
	struct strv kept = STRV_INIT;

	for (size_t i = 0; i < env->count; i++) {
		const char *pair = env->items[i];

		if (!is_dropped(what, pair))
			strv_add(&kept, pair);
		else if (plan_variable_find(pair))
			str_addf(&names, "%s%.*s", names.len ? ", " : "", (int)strcspn(pair, "="),
				 pair);
	}
	if (names.len > 0)
		strv_addf(notes, "%s left out: with --require-signature they do not come along",
			  str_cstr(&names));
	strv_done(env);
	*env = kept;
}

/* The words that the first line of a script puts before its name; env itself is left out. */
static void first_line_words(const struct str *bytes, struct strv *ret_words)
{
	owned(strv_done) struct strv line = STRV_INIT;

	(void)scan_first_line(str_cstr(bytes), bytes->len, &line);
	for (size_t i = 0; i < line.count; i++) {
		if (ret_words->count > 0 || strcmp(command_name(line.items[i]), "env") != 0)
			strv_add(ret_words, line.items[i]);
	}
}

/*
 * Python looks for modules beside the script first: a json.py there would run in the place of the machine's own. -I is
 * without that directory, the user's own packages and every PYTHON variable. Zsh reads ~/.zshenv before any script; not with -f.
 */
static const char *option_against_others(const char *program)
{
	if (scan_language_of_program(program) == SCAN_PYTHON)
		return "-I";
	return in_list("zsh rzsh", command_name(program)) ? "-f" : NULL;
}

static void isolate(const struct vet_signed *what, struct strv *command)
{
	owned(strv_done) struct strv words = STRV_INIT;
	const char *option;
	size_t from = 0;

	if (what->code->is_program)
		first_line_words(&what->source->bytes, &words);
	else
		strv_add(&words, command->items[from++]);
	option = words.count > 0 ? option_against_others(words.items[0]) : NULL;
	if (!option)
		return;
	if (what->code->is_program)
		from = 1;
	strv_add(&words, option);
	if (what->code->is_program)
		strv_add(&words, what->source->path);
	for (size_t i = from; i < command->count; i++)
		strv_add(&words, command->items[i]);
	strv_done(command);
	*command = words;
	words = (struct strv)STRV_INIT;
}

void vet_confine(const struct vet_signed *what, struct spec *spec, struct strv *notes)
{
	drop_variables(what, &spec->env, notes);
	narrow_path(&spec->env);
	isolate(what, &spec->command);
}
