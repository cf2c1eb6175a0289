/* SPDX-License-Identifier: Apache-2.0 */
/* Python and JavaScript: functions that start programs, by a text for a shell or by words. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/judge/command.h"
#include "scan/judge/judge.h"

#include <string.h>

/* Whether the argument may be something else than what is known of it. */
static bool has_more(const struct use *use, unsigned position)
{
	uint32_t argument = use_argument(use, position);

	return argument != SYNTAX_NONE && abstract_has_more(use->job->follow->of[argument]);
}

/* What programs are written to start: builds, tests, version control. */
static bool is_workshop_tool(const char *program)
{
	return in_list(
		"git make gmake cmake ctest ninja meson cargo rustc go gofmt gcc g++ cc clang "
		"clang++ "
		"javac java mvn gradle npm npx pnpm yarn tsc eslint prettier jest vitest mocha "
		"webpack vite rollup esbuild pytest tox nox ruff black mypy flake8 isort pylint "
		"coverage sphinx-build mkdocs clang-format clang-tidy shellcheck protoc ffmpeg "
		"pandoc dot ls mkdir echo ps grep head tail wc du df date uname nproc",
		program);
}

/* python3 -m NAME: the interpreter that runs already, and a module by name that neither runs others nor serves files. */
static bool is_own_module(const struct strv *words)
{
	return words->count > 2 && str_starts(words->items[0], "python") &&
	       strcmp(words->items[1], "-m") == 0 && words->items[2][0] != FOLD_GAP &&
	       !in_list("http.server pdb cProfile profile timeit trace runpy code doctest zipapp "
			"idlelib asyncio bdb coverage.__main__",
			words->items[2]);
}

/*
 * How grave it is to start WORDS, whatever they do; that is judged by the words themselves. Only names are ordinary: a path
 * may be what was just written.
 */
static enum scan_severity severity_of_start(const struct use *use, const struct strv *words)
{
	/* Deno's words stand in an option. */
	bool is_known = words->count > 0 && !strchr(words->items[0], FOLD_GAP) &&
			!str_starts(use->path, "Deno.");

	if (!is_known)
		return use->row->severity;
	if (is_workshop_tool(words->items[0]))
		return SEVERITY_LOW;
	return is_own_module(words) ? SEVERITY_LOW : use->row->severity;
}

/* Likewise of TEXT, for a shell: of each program in it. */
static enum scan_severity severity_of_text(const struct use *use, const char *text)
{
	bool is_plain = !strpbrk(text, "$`(){}\x01");

	for (const char *at = text; is_plain && *at; at += strcspn(at, ";|&\n")) {
		owned(free_ptr) char *program = NULL;

		at += strspn(at, ";|&\n ");
		program = xstrndup(at, strcspn(at, " ;|&\n"));
		is_plain = !*at || is_workshop_tool(program);
	}
	if (is_plain && *text)
		return SEVERITY_LOW;
	return use->row->severity > SEVERITY_MEDIUM ? SEVERITY_MEDIUM : use->row->severity;
}

/* A constant that does nothing evil is less grave than an unknown text. */
void judge_shell_text(const struct use *use)
{
	const struct abstract_value *text = use_text(use, 0);
	bool is_sure = text && !has_more(use, 0);
	enum scan_severity worst = SEVERITY_NONE;

	for (; text; text = abstract_next(text)) {
		enum scan_severity own = severity_of_text(use, text->text);

		(void)job_nested(use->job, use->at, SCAN_SHELL, text->text, text->len);
		is_sure = is_sure && judge_is_known(text);
		worst = own > worst ? own : worst;
	}
	use_report(use, RULE_SUBPROCESS, is_sure ? worst : use->row->severity);
}

/* What a word costs, however short it is. */
#define WORD_COST 32u

/* sys.executable and process.execPath are the interpreter that runs the text; anything else is UNKNOWN. */
static const char *running_program(const struct follow *follow, uint32_t node, const char *unknown)
{
	const struct abstract_value *path =
		node == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[node], ABSTRACT_PATH);

	if (path && strcmp(path->text, "sys.executable") == 0)
		return "python3";
	if (path && (strcmp(path->text, "process.execPath") == 0 ||
		     strcmp(path->text, "process.argv0") == 0))
		return "node";
	return unknown;
}

void judge_add_words(const struct use *use, uint32_t node, struct strv *words)
{
	const struct follow *follow = use->job->follow;
	uint32_t list = follow_list(follow, node);
	const struct abstract_value *text = follow_text(follow, node);
	static const char gap[] = { FOLD_GAP, '\0' };

	if (list == SYNTAX_NONE) {
		strv_add(words, text ? text->text : running_program(follow, node, gap));
		return;
	}
	for (uint32_t at = syntax_first(follow->syntax, list); at != SYNTAX_NONE;
	     at = syntax_next(follow->syntax, at)) {
		text = follow_text(follow, at);
		if (!job_spend(use->job, WORD_COST + (text ? text->len : 0)))
			return;
		strv_add(words, text ? text->text : running_program(follow, at, gap));
	}
}

static bool is_true(const struct use *use, uint32_t node)
{
	return node != SYNTAX_NONE && !syntax_is(use->job->syntax, node, "False") &&
	       !syntax_is(use->job->syntax, node, "0") &&
	       !syntax_is(use->job->syntax, node, "None");
}

/* An object of options, spawn(name, words, {cwd: "..."}), holds no words. */
static bool is_options(const struct use *use, uint32_t node)
{
	return use->job->language == SCAN_JAVASCRIPT &&
	       use->job->syntax->text[use->job->syntax->nodes[node].start] == '{';
}

void judge_words(const struct use *use)
{
	owned(strv_done) struct strv words = STRV_INIT;

	for (unsigned i = 0; i < USE_ARGUMENTS_MAX && use_argument(use, i) != SYNTAX_NONE; i++)
		if (!is_options(use, use_argument(use, i)))
			judge_add_words(use, use_argument(use, i), &words);
	use_report(use, RULE_SUBPROCESS, severity_of_start(use, &words));
	/* os.execl("/bin/sh", "sh", ...) and spawn modes: the program comes first, its own name may follow. */
	judge_command(use->job, use->at, &words);
}

void judge_argv(const struct use *use)
{
	owned(strv_done) struct strv words = STRV_INIT;
	uint32_t first = use_argument(use, 0);

	if (first == SYNTAX_NONE)
		first = follow_keyword(use->job->follow, use->node, "args");
	if (is_true(use, follow_keyword(use->job->follow, use->node, "shell"))) {
		judge_shell_text(use);
		if (!judge_is_known(use_text(use, 0)))
			use_report(use, RULE_SUBPROCESS, SEVERITY_HIGH);
		return;
	}
	if (first != SYNTAX_NONE)
		judge_add_words(use, first, &words);
	use_report(use, RULE_SUBPROCESS, severity_of_start(use, &words));
	if (first == SYNTAX_NONE)
		return;
	judge_command(use->job, use->at, &words);
}
