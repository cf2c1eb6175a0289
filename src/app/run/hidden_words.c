/* SPDX-License-Identifier: Apache-2.0 */
/* What a command did not find because it is hidden here. */
#include "app/run/hidden_words.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/shell_quote.h"
#include "plan/plan.h"
#include "spec/mask.h"
#include "spec/settings.h"

#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_FOUND 127
/* Words of a shell's text, and arguments, that are looked at. */
#define WORDS_MAX 64u

/* Whether PATH is hidden only since it lies in a place that is: no rule is about it, or about what it holds. */
static bool is_left_out(const struct spec *spec, const char *path)
{
	const struct spec_mask *deepest = NULL;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (mask->kind == MASK_GLOB && mask_pattern_match(mask->path, path))
			return false;
		if (mask_is_of_directory(mask->kind) && path_is_within(path, mask->path) &&
		    (!deepest || strlen(mask->path) > strlen(deepest->path)))
			deepest = mask;
	}
	if (!deepest || deepest->kind != MASK_EMPTY || strcmp(deepest->path, path) == 0)
		return false;
	/* Credentials of a home that is hidden have no rules of their own, and other homes are other people's. */
	if (path_is_within(path, spec->home))
		return !plan_credential(path + strlen(spec->home) + 1);
	return strcmp(deepest->path, "/home") != 0 && strcmp(deepest->path, "/root") != 0;
}

/* The path that would have to be shown for PATH to be found inside; NULL when that is not what is missing. */
static char *missing_at(const struct spec *spec, const char *path)
{
	owned(free_ptr) char *clean = path_clean(path);
	owned(free_ptr) char *real = clean ? path_real(clean) : NULL;

	if (!real)
		return NULL;
	/* A link that is seen may lead to what is not. */
	const char *missing = mask_shows(spec, clean) ? real : clean;

	return !mask_shows(spec, missing) && is_left_out(spec, missing) ? xstrdup(missing) : NULL;
}

static const char *search_path(const struct spec *spec)
{
	for (size_t i = 0; i < spec->env.count; i++) {
		if (str_starts(spec->env.items[i], "PATH="))
			return spec->env.items[i] + strlen("PATH=");
	}
	return SETTINGS_PATH_DEFAULT;
}

static char *missing_program(const struct spec *spec, const char *word)
{
	char path[PATH_MAX];

	if (strchr(word, '/'))
		return word[0] == '/' ? missing_at(spec, word) : NULL;
	for (const char *at = search_path(spec); *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		int used = snprintf(path, sizeof(path), "%.*s/%s", (int)len, at, word);

		at += len;
		if (used <= 0 || (size_t)used >= sizeof(path) || path[0] != '/' ||
		    access(path, X_OK) < 0)
			continue;
		/* The first that the host has is the one that is meant. */
		return missing_at(spec, path);
	}
	return NULL;
}

/* TEXT is a shell's: each word may be a command, and only a program that is hidden is taken for one. */
static char *missing_in_text(const struct spec *spec, const char *text)
{
	static const char between[] = " \t\n;|&()<>'\"`$={}";

	for (unsigned count = 0; *text && count < WORDS_MAX; count++) {
		text += strspn(text, between);
		size_t len = strcspn(text, between);
		bool is_home = str_starts(text, "~/");
		owned(free_ptr) char *word =
			is_home ? xasprintf("%s/%.*s", spec->home, (int)len - 2, text + 2)
				: xstrndup(text, len);
		char *missing = *word ? missing_program(spec, word) : NULL;

		if (missing)
			return missing;
		text += len;
	}
	return NULL;
}

static bool is_shell_text(const struct strv *command)
{
	return command->count >= 3 && command->items[1][0] == '-' &&
	       command->items[1][strlen(command->items[1]) - 1] == 'c';
}

static char *find_missing(const struct spec *spec, const struct strv *command, int exit_code)
{
	char *missing = NULL;

	if (exit_code == NOT_FOUND)
		missing = missing_program(spec, command->items[0]);
	if (!missing && exit_code == NOT_FOUND && is_shell_text(command))
		missing = missing_in_text(spec, command->items[2]);
	for (size_t i = 1; !missing && i < command->count && i < WORDS_MAX; i++) {
		if (command->items[i][0] == '/')
			missing = missing_at(spec, command->items[i]);
	}
	return missing;
}

/* The flag that shows PATH: of HOME a tool's directory, of other places, and behind links, that very path. */
static void add_remedy(const struct spec *spec, const char *path, struct str *out)
{
	owned(free_ptr) char *real = path_real(path);
	owned(free_ptr) char *dir = xstrdup(path);
	owned(str_done) struct str pair = STR_INIT;
	char *slash = strrchr(dir, '/');

	*slash = '\0';
	if (strcmp(strrchr(path, '/'), "/bin") != 0 && strlen(dir) > 4 &&
	    strcmp(dir + strlen(dir) - 4, "/bin") == 0)
		dir[strlen(dir) - 4] = '\0';
	if (real && strcmp(real, path) == 0 && path_is_within(dir, spec->home) &&
	    strcmp(dir, spec->home) != 0) {
		str_add(out, "--home-tools ");
		shell_quote_add(out, dir + strlen(spec->home) + 1);
		return;
	}
	str_addf(&pair, "%s:%s", real ? real : path, path);
	str_add(out, "--ro ");
	shell_quote_add(out, str_cstr(&pair));
}

bool hidden_words_are_due(const struct strv *command, const struct run_result *result)
{
	if (result->exit_code == NOT_FOUND)
		return command->count > 0;
	for (size_t i = 1; result->status == RUN_ERROR && i < command->count; i++) {
		if (command->items[i][0] == '/')
			return true;
	}
	return false;
}

void hidden_words_add(const struct spec *spec, const struct strv *command,
		      struct run_result *result)
{
	owned(free_ptr) char *missing = find_missing(spec, command, result->exit_code);
	owned(str_done) struct str words = STR_INIT;

	if (!missing)
		return;
	bool is_home = path_is_within(missing, spec->home);

	str_addf(&words, "%s%s exists on the host and is hidden here; show it with ",
		 is_home ? "~" : "", is_home ? missing + strlen(spec->home) : missing);
	add_remedy(spec, missing, &words);
	if (!result->message) {
		strv_take(&result->notes, str_detach(&words));
		return;
	}
	free(result->message);
	result->message = str_detach(&words);
}
