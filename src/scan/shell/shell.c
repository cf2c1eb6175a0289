/* SPDX-License-Identifier: Apache-2.0 */
/* Shell texts: commands, pipelines into interpreters, redirections, functions that call themselves. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_word.h"

#include <ctype.h>
#include <string.h>

/* So many options of a declaration are looked at; real ones have fewer. */
#define OPTIONS_MAX 32u

static uint32_t start_of(const struct shell *shell, uint32_t node)
{
	return shell->syntax->nodes[node].start;
}

/* Also with other letters in front: -so FILE. */
static bool is_output_flag(const char *word)
{
	if (word[0] != '-')
		return false;
	return str_ends(word, "o") || str_ends(word, "O") || strcmp(word, "--output") == 0;
}

void shell_note_fetched(struct shell *shell, const char *path)
{
	const char *name = command_name(path);

	if (strv_has(&shell->fetched, name))
		return;
	if (shell->fetched.count < SHELL_FETCHED_MAX)
		strv_add(&shell->fetched, name);
	else
		shell->is_cut = true;
}

/* What the command NAME takes from the network, from word START on. */
static void note_fetched(struct shell *shell, const char *name, const struct strv *words,
			 size_t start)
{
	for (size_t i = start; i < words->count; i++) {
		const char *word = words->items[i];

		if (i + 1 < words->count && is_output_flag(word))
			shell_note_fetched(shell, words->items[i + 1]);
		else if (strcmp(name, "wget") == 0 && strstr(word, "://") && *command_name(word))
			shell_note_fetched(shell, word);
	}
}

/* scp HOST:FILE PLACE, and rsync likewise: either name may be what it is called here. */
static void note_copied(struct shell *shell, const struct strv *words, size_t start)
{
	if (words->count < start + 3 || strchr(words->items[words->count - 1], ':'))
		return;
	for (size_t i = start + 1; i + 1 < words->count; i++) {
		const char *colon = strchr(words->items[i], ':');

		if (!colon || words->items[i][0] == '-')
			continue;
		shell_note_fetched(shell, colon + 1);
		shell_note_fetched(shell, words->items[words->count - 1]);
	}
}

/* Whether FIRST runs a file that it is given, is one, or makes one that can be run. */
static bool runs_files(const char *name, const char *first)
{
	return strcmp(name, "chmod") == 0 || strcmp(name, "source") == 0 ||
	       strcmp(name, ".") == 0 || command_is_interpreter(name) || strchr(first, '/');
}

/* A file taken from the network and run. */
static void judge_fetched(struct shell *shell, uint32_t command, const struct strv *words)
{
	size_t start = command_start(words);
	const char *first = start < words->count ? words->items[start] : "";
	const char *name = command_name(first);

	if (command_fetches(name)) {
		note_fetched(shell, name, words, start);
		return;
	}
	if (in_list("scp rsync", name))
		note_copied(shell, words, start);
	if (!runs_files(name, first))
		return;
	for (size_t i = start; i < words->count; i++) {
		if (strv_has(&shell->fetched, command_name(words->items[i])) &&
		    words->items[i][0] != '-')
			job_find(shell->job, start_of(shell, command), RULE_PIPE, SEVERITY_HIGH,
				 words->items[i]);
	}
}

/* . <(echo ...), python3 <(printf ...): a file that is written there and then. */
static void judge_written(struct shell *shell, uint32_t command, uint32_t file, const char *name)
{
	enum scan_language language = scan_language_of_program(name);
	owned(str_done) struct str text = STR_INIT;

	if (shell_output(shell, file, shell->syntax->nodes[file].after, &text))
		(void)job_nested(shell->job, start_of(shell, command),
				 language == SCAN_UNKNOWN ? SCAN_SHELL : language, str_cstr(&text),
				 text.len);
}

/* bash <(curl ...), eval "$(... | base64 -d)", sh -c "$(wget -O- ...)". */
static void judge_substituted(struct shell *shell, uint32_t command, const struct strv *words)
{
	const struct syntax *syntax = shell->syntax;
	size_t start = command_start(words);
	const char *name = start < words->count ? command_name(words->items[start]) : "";
	bool runs = strcmp(name, "eval") == 0 || strcmp(name, "source") == 0 ||
		    strcmp(name, ".") == 0 || name[0] == FOLD_GAP ||
		    scan_language_of_program(name) != SCAN_UNKNOWN;

	for (uint32_t at = command + 1; runs && at < syntax->nodes[command].after; at++) {
		uint32_t kind = syntax->nodes[at].kind;

		if (kind != NODE_COMMAND_SUBSTITUTION && kind != NODE_PROCESS_SUBSTITUTION)
			continue;
		if (shell_fetches(shell, at))
			job_find(shell->job, start_of(shell, command), RULE_PIPE, SEVERITY_CRITICAL,
				 name);
		else if (shell_decodes(shell, at))
			job_find(shell->job, start_of(shell, command), RULE_PIPE, SEVERITY_HIGH,
				 name);
		else if (kind == NODE_PROCESS_SUBSTITUTION)
			judge_written(shell, command, at, name);
		at = syntax->nodes[at].after - 1;
	}
}

/* eval "$(ssh-agent -s)": programs whose output is made to be evaluated, with nothing else in it. */
static bool sets_up(struct shell *shell, uint32_t command, const struct strv *words)
{
	static const char programs[] =
		"ssh-agent dircolors direnv pyenv rbenv nodenv brew opam conda starship zoxide "
		"mise luarocks lesspipe resize register-python-argcomplete";
	owned(strv_done) struct strv inner = STRV_INIT;
	uint32_t at = command;

	if (strcmp(words->items[0], "eval") != 0 || words->count != 2 ||
	    words->items[1][0] != FOLD_GAP || words->items[1][1])
		return false;
	while (at < shell->syntax->nodes[command].after &&
	       shell->syntax->nodes[at].kind != NODE_COMMAND_SUBSTITUTION)
		at++;
	at = at < shell->syntax->nodes[command].after ? shell_command_in(shell, at) : SYNTAX_NONE;
	if (at != SYNTAX_NONE)
		shell_words(shell, at, &inner);
	return inner.count > 0 && in_list(programs, inner.items[0]);
}

/* x=rm; (x=ls); $x -rf /: the name may be what it was as well. */
static void judge_former(struct shell *shell, uint32_t node, const struct strv *now)
{
	owned(strv_done) struct strv words = STRV_INIT;

	if (!shell_name_varies(shell, node))
		return;
	shell->is_former = true;
	shell_words(shell, node, &words);
	shell->is_former = false;
	if (words.count > 0 && strcmp(words.items[0], now->items[0]) != 0)
		judge_command(shell->job, start_of(shell, node), &words);
}

/* alias l=rm; l -rf / */
static void judge_aliased(struct shell *shell, uint32_t node, const struct strv *words)
{
	owned(strv_done) struct strv named = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;

	if (!shell_unalias(shell, words, &named))
		return;
	judge_command(shell->job, start_of(shell, node), &named);
	shell_effect(shell, &named);
	/* alias l='true; rm': more than one command. */
	for (size_t i = 0; i < named.count; i++) {
		str_add(&text, i ? " " : "");
		str_add(&text, named.items[i]);
	}
	if (strpbrk(str_cstr(&text), ";|&<>`$("))
		(void)job_nested(shell->job, start_of(shell, node), SCAN_SHELL, str_cstr(&text),
				 text.len);
}

/* :(){ :|:& };: */
static void judge_function(struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t name = syntax_child(syntax, node, FIELD_NAME);

	shell_note_function(shell, node);
	for (uint32_t at = node + 1; name != SYNTAX_NONE && at < syntax->nodes[node].after; at++) {
		uint32_t called = syntax->nodes[at].kind == NODE_COMMAND_NAME ? at : SYNTAX_NONE;
		uint32_t above = called == SYNTAX_NONE
					 ? SYNTAX_NONE
					 : syntax->nodes[syntax->nodes[at].parent].parent;
		size_t len = syntax->nodes[name].end - syntax->nodes[name].start;

		if (above != SYNTAX_NONE && syntax->nodes[above].kind == NODE_PIPELINE &&
		    syntax->nodes[called].end - syntax->nodes[called].start == len &&
		    memcmp(syntax->text + start_of(shell, name),
			   syntax->text + start_of(shell, called), len) == 0) {
			job_find(shell->job, start_of(shell, node), RULE_EXHAUSTION,
				 SEVERITY_CRITICAL, "a function that starts itself twice");
			return;
		}
	}
}

/* A list is kept as its items with blanks between them. */
static void add_value(struct shell *shell, uint32_t value, struct str *out)
{
	const struct syntax *syntax = shell->syntax;

	if (syntax->nodes[value].kind != NODE_LIST) {
		shell_word_add(shell, value, out);
		return;
	}
	for (uint32_t item = syntax_first(syntax, value); item != SYNTAX_NONE;
	     item = syntax_next(syntax, item)) {
		if (out->len > 0)
			str_add_char(out, ' ');
		shell_word_add(shell, item, out);
	}
}

/* x+=y: what the variable was comes first. */
static void add_former(struct shell *shell, uint32_t name, uint32_t value, struct str *out)
{
	const struct syntax_node *it = &shell->syntax->nodes[name];
	const struct abstract_value *former = NULL;

	if (it->end >= shell->syntax->nodes[value].start || shell->syntax->text[it->end] != '+')
		return;
	(void)abstract_values_look_up(&shell->variables, shell->syntax->text + it->start,
				      it->end - it->start, &former);
	former = abstract_of_kind(former, ABSTRACT_TEXT);
	if (former)
		str_add_bytes(out, former->text, former->len);
}

/* Variables whose value a shell, or git, or a pager runs. */
static bool is_run_later(const struct syntax *syntax, uint32_t name)
{
	size_t len;
	const char *text = syntax_source(syntax, name, &len);

	return in_list_bytes("PROMPT_COMMAND GIT_SSH_COMMAND GIT_EDITOR GIT_PAGER LESSOPEN PAGER "
			     "EDITOR VISUAL PS0 PS4 BROWSER",
			     text, len);
}

/* declare -n x=y, local -n x=y */
static bool is_reference(struct shell *shell, uint32_t assignment)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t above = syntax->nodes[assignment].parent;

	if (above == SYNTAX_NONE || syntax->nodes[above].kind != NODE_DECLARATION)
		return false;
	for (uint32_t at = syntax_first(syntax, above), i = 0; at != SYNTAX_NONE && at < assignment;
	     at = syntax_next(syntax, at), i++) {
		size_t len;
		const char *word = syntax_source(syntax, at, &len);

		/* Options come before names. */
		if (syntax->nodes[at].kind == NODE_ASSIGNMENT)
			return false;
		if (len > 1 && word[0] == '-' && memchr(word, 'n', len))
			return true;
		if (i == OPTIONS_MAX) {
			shell->is_cut = true;
			return false;
		}
	}
	return false;
}

/* a=1 b=2<end of line>command: to the grammar they are the command's own; to the shell they come before it. */
static bool is_line_before(const struct shell *shell, uint32_t assignment)
{
	const struct syntax_node *it = &shell->syntax->nodes[assignment];

	return it->kind == NODE_ASSIGNMENT && it->parent == shell->lines_of &&
	       it->end <= shell->lines_end;
}

static void judge_variable(struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;
	owned(str_done) struct str text = STR_INIT;
	uint32_t name = syntax_child(syntax, node, FIELD_NAME);
	uint32_t value = syntax_child(syntax, node, FIELD_VALUE);
	const struct syntax_node *it;

	if (name == SYNTAX_NONE)
		return;
	it = &syntax->nodes[name];
	if (value != SYNTAX_NONE) {
		add_former(shell, name, value, &text);
		add_value(shell, value, &text);
	}
	if (is_reference(shell, node)) {
		shell_refer(shell, syntax->text + it->start, it->end - it->start, str_cstr(&text));
		return;
	}
	/* The first node is the whole text. */
	shell_keep(shell, syntax->text + it->start, it->end - it->start,
		   syntax->nodes[node].parent == 0);
	shell_define(shell, syntax->text + it->start, it->end - it->start,
		     value == SYNTAX_NONE ? NULL : str_cstr(&text));
	if (syntax_is(syntax, name, "IFS") &&
	    (syntax->nodes[syntax->nodes[node].parent].kind != NODE_COMMAND ||
	     is_line_before(shell, node)))
		shell->has_separators = true;
	judge_assigned(shell->job, it->start, syntax->text + it->start, it->end - it->start,
		       str_cstr(&text), text.len);
	if (is_run_later(syntax, name) && text.len > 0)
		(void)job_nested(shell->job, it->start, SCAN_SHELL, str_cstr(&text), text.len);
	if (in_list_bytes("LD_PRELOAD LD_AUDIT BASH_ENV PYTHONSTARTUP PERL5OPT",
			  syntax->text + it->start, it->end - it->start))
		job_find(shell->job, it->start, RULE_PRIVILEGE, SEVERITY_HIGH,
			 "a variable that has programs run something first");
	if (syntax_is(syntax, name, "HISTFILE") || syntax_is(syntax, name, "HISTSIZE"))
		job_find(shell->job, it->start, RULE_OBFUSCATION, SEVERITY_LOW,
			 "hides its history");
}

static void judge_lines_before(struct shell *shell, uint32_t command)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t first = syntax_first(syntax, command);
	uint32_t name = first != SYNTAX_NONE && syntax->nodes[first].kind == NODE_ASSIGNMENT
				? syntax_child(syntax, command, FIELD_NAME)
				: SYNTAX_NONE;
	const char *from = syntax->text + start_of(shell, command), *line;

	line = name == SYNTAX_NONE
		       ? NULL
		       : memrchr(from, '\n', (size_t)(syntax->text + start_of(shell, name) - from));
	if (!line)
		return;
	shell->lines_of = command;
	shell->lines_end = (uint32_t)(line - syntax->text);
	for (uint32_t at = first; at < name; at = syntax_next(syntax, at)) {
		if (is_line_before(shell, at))
			judge_variable(shell, at);
	}
}

static void judge_simple(struct shell *shell, uint32_t node)
{
	owned(strv_done) struct strv words = STRV_INIT;

	judge_lines_before(shell, node);
	shell_words(shell, node, &words);
	if (words.count == 0)
		return;
	judge_fetched(shell, node, &words);
	judge_substituted(shell, node, &words);
	for (size_t i = 1; i < words.count; i++) {
		if (str_starts(words.items[i], "/dev/tcp/") ||
		    str_starts(words.items[i], "/dev/udp/"))
			judge_target(shell->job, start_of(shell, node), words.items[i]);
	}
	if (shell->syntax->nodes[node + 1].kind == NODE_COMMAND_NAME)
		judge_hidden(shell, node, &words);
	if (!sets_up(shell, node, &words))
		judge_command(shell->job, start_of(shell, node), &words);
	judge_former(shell, node, &words);
	judge_aliased(shell, node, &words);
	shell_mark(shell, node, &words);
	shell_effect(shell, &words);
}

static void judge_one(struct shell *shell, uint32_t node)
{
	const struct syntax_node *it = &shell->syntax->nodes[node];

	shell->job->report->sets_names =
		shell->job->report->sets_names || shell_sets_names(shell, node);
	switch (it->kind) {
	case NODE_ASSIGNMENT:
		if (!is_line_before(shell, node))
			judge_variable(shell, node);
		break;
	case NODE_COMMAND:
	case NODE_DECLARATION:
		judge_simple(shell, node);
		break;
	case NODE_PIPELINE:
		shell_judge_pipeline(shell, node);
		break;
	case NODE_REDIRECT:
		shell_judge_redirect(shell, node);
		break;
	case NODE_HEREDOC:
	case NODE_HERESTRING:
		shell_judge_document(shell, node);
		break;
	case NODE_FUNCTION:
		judge_function(shell, node);
		break;
	case NODE_FOR:
		shell_loop(shell, node);
		break;
	case NODE_STRING:
	case NODE_RAW_STRING:
	case NODE_ANSI_STRING:
	case NODE_WORD:
		judge_literal(shell->job, it->start, shell->syntax->text + it->start,
			      it->end - it->start, it->kind == NODE_ANSI_STRING);
		break;
	default:
		break;
	}
}

/* cu\<end of line>rl: the shell joins such lines before it looks for words; the grammar does not. */
static void judge_joined(struct scan_job *job)
{
	owned(str_done) struct str joined = STR_INIT;
	const char *text = job->text->bytes, *end = text + job->text->len, *at = text, *found;
	uint32_t first = 0;

	while ((found = memmem(at, (size_t)(end - at), "\\\n", 2))) {
		bool is_within = found > text && found + 2 < end &&
				 isalnum((unsigned char)found[-1]) &&
				 isalnum((unsigned char)found[2]);

		str_add_bytes(&joined, at, (size_t)(found - at));
		if (!is_within)
			str_add_bytes(&joined, found, 2);
		else if (first == 0)
			first = (uint32_t)(found - text);
		at = found + 2;
	}
	if (first == 0)
		return;
	str_add_bytes(&joined, at, (size_t)(end - at));
	(void)job_nested(job, first, SCAN_SHELL, str_cstr(&joined), joined.len);
}

bool judge_shell(struct scan_job *job)
{
	struct shell shell = {
		.job = job, .syntax = job->syntax, .judge = judge_one, .lines_of = SYNTAX_NONE
	};
	bool is_whole;

	/* bash -c CODE NAME WORDS: the first is no argument. */
	for (size_t i = 1; job->given && i < job->given->count; i++)
		strv_add(&shell.positional, job->given->items[i]);
	abstract_values_init(&shell.variables);
	if (job->given) {
		shell.given = &shell.positional;
		if (job->given->count > 0)
			shell_define(&shell, "0", 1, job->given->items[0]);
	}
	for (uint32_t i = 0; i < job->syntax->count; i++)
		judge_one(&shell, i);
	judge_joined(job);
	is_whole = !shell.is_cut && !shell.variables.is_full && job_spend(job, 0);
	abstract_values_done(&shell.variables);
	strv_done(&shell.fetched);
	strv_done(&shell.positional);
	return is_whole;
}
