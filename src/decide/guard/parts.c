/* SPDX-License-Identifier: Apache-2.0 */
/* Guard: the parts of a shell's text, one after the other; the strictest decides. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "decide/guard/look.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* So many files are looked at for a pattern; more of them are for a sandbox. */
#define MATCHES_MAX 1000u

static bool is_named(const char *name, const char *const *names)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

/* What a shell does itself and that changes nothing outside of it. */
static bool is_builtin(const struct strv *words)
{
	static const char *const any[] = { "cd", ":", "type", NULL };
	static const char *const numbered[] = {
		"exit", "return", "break", "continue", "wait", NULL
	};

	if (is_named(words->items[0], any))
		return true;
	/* Other words may be variables to be set, whose subscripts are code. */
	for (size_t i = 1; i < words->count; i++) {
		if (strspn(words->items[i], "0123456789") != strlen(words->items[i]))
			return false;
	}
	return is_named(words->items[0], numbered);
}

/* The words with the home in place of ~ and $HOME, as the shell puts it there. */
static void expand_home(const struct guard_request *request, const struct strv *words,
			struct strv *ret_words)
{
	static const char *const homes[] = { "~", "$HOME", "${HOME}" };

	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i], *rest = NULL;

		for (size_t k = 0; k < sizeof(homes) / sizeof(homes[0]); k++) {
			if (str_starts(word, homes[k]))
				rest = word + strlen(homes[k]);
		}
		/* A home that would be split, or is a pattern, stays as it is written. */
		if (rest && request->home && !strpbrk(request->home, " \t\n*?[\\") &&
		    (!*rest || *rest == '/'))
			strv_addf(ret_words, "%s%s", request->home, rest);
		else
			strv_add(ret_words, word);
	}
}

/* Whether the shell may put something else in place of WORD: ~user, a=~/x, {a..b}, a home within a word. */
static bool is_replaced(const char *word)
{
	const char *brace = strchr(word, '{');

	for (const char *at = strchr(word, '~'); at; at = strchr(at + 1, '~')) {
		if (at == word || at[-1] == '=' || at[-1] == ':')
			return true;
	}
	return (brace && (strchr(brace, ',') || strstr(brace, ".."))) || strstr(word, "$HOME");
}

static unsigned count_patterns(const char *word)
{
	unsigned count = 0;

	for (; *word; word++)
		count += strchr("*?[", *word) != NULL;
	return count;
}

/*
 * The files that a pattern covers now; false when that cannot be determined: a pattern for directories, too many files, or one
 * whose name would be taken for an option.
 */
static bool look_at_pattern(const struct guard_request *request, const char *word,
			    struct guard_verdict *verdict)
{
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
	owned(free_ptr) char *dir =
		slash ? xstrndup(word, (size_t)(slash + 1 - word)) : xstrdup("./");
	char path[PATH_MAX];
	bool is_known = count_patterns(dir) == 0;
	DIR *stream = is_known && guard_resolve(request, dir, path) ? opendir(path) : NULL;
	unsigned left = MATCHES_MAX;

	for (struct dirent *entry; stream && is_known && (entry = readdir(stream));) {
		owned(free_ptr) char *file = xasprintf("%s%s", dir, entry->d_name);

		if (!wildcard_matches(name, entry->d_name, 0))
			continue;
		is_known = left-- > 0 && (slash || entry->d_name[0] != '-');
		if (guard_resolve(request, file, path))
			guard_look_at_file(request, path, verdict);
	}
	if (stream)
		closedir(stream);
	return is_known;
}

/* Why the words of a part are not all that it will be given; NULL. */
static const char *why_unknown(const struct guard_request *request, struct guard_verdict *verdict)
{
	const struct strv *words = request->command;

	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];

		if (strchr(word, GUARD_GAP))
			return i == 0 ? "has a name that only the run knows"
				      : "is given words that only the run knows";
		if (is_replaced(word))
			return "is given words that only the run knows";
		if (i > 0 && count_patterns(word) > 0 && !look_at_pattern(request, word, verdict))
			return "is given files that are not told by their pattern";
	}
	return NULL;
}

/* Whether a shell starts the part, which knows its own words; the command itself is started by us. */
static bool is_in_shell(const struct guard_request *request, const struct guard_part *part)
{
	return part != request->parts;
}

/* Starters that are the shell's own; time is so for some shells, and unless it is quoted. */
static bool is_own_starter(const struct guard_request *request, const char *name)
{
	return strcmp(name, "command") == 0 ||
	       (strcmp(name, "time") == 0 && guard_is_absent(request, name));
}

/* Why what starts the part may not do so directly; NULL. */
static const char *why_not_started(const struct guard_request *request,
				   const struct guard_part *part, const char **ret_what)
{
	if (part->is_wrapped)
		return "is started by something that does more than that";
	for (size_t i = 0; part->starters && i < part->starters->count; i++) {
		*ret_what = part->starters->items[i];
		/* Behind another one it is no longer the shell that starts. */
		if (i == 0 && is_in_shell(request, part) && is_own_starter(request, *ret_what))
			continue;
		if (!guard_is_trusted(request, *ret_what))
			return "is not found first in a directory that only root can write to";
	}
	*ret_what = request->command->items[0];
	if (part->is_shell && !guard_is_trusted(request, *ret_what))
		return "is not found first in a directory that only root can write to";
	return part->is_lost ? "runs in a directory that only the run knows" : NULL;
}

static void decide_run(const struct guard_request *request, const struct guard_part *part,
		       struct guard_verdict *verdict)
{
	const char *name = request->command->items[0], *what = name;
	const char *why = part->is_shell ? NULL : why_unknown(request, verdict);
	struct guard_request test = *request;
	owned(strv_done) struct strv words = STRV_INIT;

	if (!part->is_shell)
		guard_look_at_command(request, verdict);
	if (part->is_privileged)
		guard_raise(verdict, GUARD_ASK, RISK_HIGH, "asks for more privilege", name);
	if (!why)
		why = why_not_started(request, part, &what);
	/* [ is test. */
	if (strcmp(name, "[") == 0) {
		strv_add(&words, "test");
		for (size_t i = 1; i + 1 < request->command->count; i++)
			strv_add(&words, request->command->items[i]);
		test.command = &words;
	}
	if (!why && !part->is_shell &&
	    !(is_in_shell(request, part) && (!part->starters || part->starters->count == 0) &&
	      is_builtin(request->command)))
		why = guard_why_not_direct(&test, &what);
	if (why && verdict->decision == GUARD_DIRECT)
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW, why, what);
}

/* Places that a redirection leads to without any effect. */
static bool is_sink(const char *place)
{
	return strcmp(place, "/dev/null") == 0 || strcmp(place, "/dev/stderr") == 0 ||
	       strcmp(place, "/dev/stdout") == 0 || strcmp(place, "/dev/stdin") == 0;
}

static void decide_place(const struct guard_request *request, const struct guard_part *part,
			 struct guard_verdict *verdict)
{
	const char *place = request->command->items[0];
	bool is_written = part->kind == PART_WRITES;
	char path[PATH_MAX];

	if (is_sink(place))
		return;
	if (!guard_resolve(request, place, path)) {
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW,
			    "reads or writes where only the run knows", place);
		return;
	}
	guard_look_at_file(request, path, verdict);
	if (is_written && !path_is_within(path, request->workspace))
		guard_raise(verdict, GUARD_ASK, RISK_MEDIUM, "writes outside the workspace", path);
	else if (is_written)
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW, "writes a file", place);
	else if (strchr(place, GUARD_GAP) || is_replaced(place) || count_patterns(place) > 0 ||
		 part->is_lost)
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW, "reads what only the run knows",
			    place);
}

/* '~/x' in quotes, which the words have lost, is no file of the home but one here. */
static void look_at_unexpanded(const struct guard_request *request, const struct guard_part *part,
			       struct guard_verdict *verdict)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < part->words->count; i++) {
		const char *word = part->words->items[i];

		if (strcmp(word, request->command->items[i]) == 0)
			continue;
		if (guard_resolve(request, word, path))
			guard_look_at_file(request, path, verdict);
		if (count_patterns(word) > 0 && !look_at_pattern(request, word, verdict))
			guard_raise(verdict, GUARD_SANDBOX, RISK_LOW,
				    "is given files that are not told by their pattern", word);
	}
}

static void decide_at(const struct guard_request *request, const struct guard_part *part,
		      struct guard_verdict *verdict)
{
	look_at_unexpanded(request, part, verdict);
	if (part->kind == PART_RUNS)
		decide_run(request, part, verdict);
	else
		decide_place(request, part, verdict);
}

static void decide_part(const struct guard_request *request, const struct guard_part *part,
			struct guard_verdict *verdict)
{
	owned(strv_done) struct strv words = STRV_INIT;
	owned(free_ptr) char *there = NULL;
	struct guard_request own = *request;

	if (part->kind == PART_FOUND) {
		guard_raise(verdict, part->at_least, RISK_HIGH, part->words->items[0], "");
		return;
	}
	expand_home(request, part->words, &words);
	own.command = &words;
	decide_at(&own, part, verdict);
	if (!part->directory[0])
		return;
	/* A cd may have been another shell's: the same from there, too. */
	there = part->directory[0] == '/' ? xstrdup(part->directory)
					  : xasprintf("%s/%s", request->cwd, part->directory);
	own.cwd = there;
	decide_at(&own, part, verdict);
}

/* The reasons of a part, which name it. */
static void add_reasons(const struct guard_part *part, const struct guard_verdict *own,
			struct guard_verdict *verdict)
{
	owned(str_done) struct str whole = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < part->words->count && whole.len < 80; i++)
		str_addf(&whole, "%s%s", i ? " " : "", part->words->items[i]);
	(void)str_shown(str_cstr(&whole), shown);
	for (size_t i = 0; i < own->reasons.count; i++) {
		owned(free_ptr) char *reason =
			part->kind == PART_FOUND
				? xstrdup(own->reasons.items[i])
				: xasprintf("%s (in: %s)", own->reasons.items[i], shown);

		if (!strv_has(&verdict->reasons, reason))
			strv_add(&verdict->reasons, reason);
	}
}

void guard_decide_parts(const struct guard_request *request, struct guard_verdict *verdict)
{
	for (size_t i = 0; i < request->part_count; i++) {
		owned(guard_verdict_done) struct guard_verdict own = { .decision = GUARD_DIRECT };

		decide_part(request, &request->parts[i], &own);
		if (own.decision > verdict->decision)
			verdict->decision = own.decision;
		if (own.risk > verdict->risk)
			verdict->risk = own.risk;
		add_reasons(&request->parts[i], &own, verdict);
	}
	if (request->obscure && verdict->decision == GUARD_DIRECT)
		guard_raise(verdict, GUARD_SANDBOX, RISK_LOW, request->obscure, "");
}
