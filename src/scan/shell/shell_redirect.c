/* SPDX-License-Identifier: Apache-2.0 */
/* Shell texts: what redirections and here-documents read, write and run. */
#include "base/core/own.h"
#include "scan/follow/fold.h"
#include "scan/judge/command.h"
#include "scan/shell/shell_word.h"

#include <string.h>

/* Whether NODE redirects nothing (> FILE, : > FILE) in a loop: what it names is emptied, one after the other. */
static bool empties_in_loop(const struct shell *shell, uint32_t node)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t above = syntax->nodes[node].parent;
	const char *text = above == SYNTAX_NONE ? "" : syntax->text + syntax->nodes[above].start;

	if (*text != '>' && !str_starts(text, ": ") && !str_starts(text, "true "))
		return false;
	for (uint32_t at = above; at != SYNTAX_NONE; at = syntax->nodes[at].parent) {
		text = syntax->text + syntax->nodes[at].start;
		if (syntax->nodes[at].end - syntax->nodes[at].start > 6 &&
		    (strncmp(text, "for ", 4) == 0 || strncmp(text, "while ", 6) == 0))
			return true;
	}
	return false;
}

/* A target with a pattern in it comes from a loop: each of many files is empty afterwards. */
static void judge_overwritten(struct shell *shell, uint32_t node, const char *target)
{
	const struct syntax_node *it = &shell->syntax->nodes[node];
	bool is_appended = memmem(shell->syntax->text + it->start, it->end - it->start, ">>", 2);
	bool is_many = strchr(target, '*') || place_of(target) == PLACE_EVERYTHING;

	judge_target(shell->job, it->start, target);
	if (target[0] == FOLD_GAP && !target[1] && !is_appended && empties_in_loop(shell, node))
		job_find(shell->job, it->start, RULE_DELETE, SEVERITY_MEDIUM, "redirection");
	if (is_many && !is_appended)
		job_find(shell->job, it->start, RULE_DELETE, command_removal(target, true), target);
}

/*
 * 2>&1, <&-, 2>&1-: no place, but a descriptor that is open already. Anything else is a file, also behind &> and where
 * only a part of the word is a number.
 */
static bool is_descriptor(const struct shell *shell, uint32_t node, const char *target)
{
	size_t len, digits = strspn(target, "0123456789");
	const char *text = syntax_source(shell->syntax, node, &len);
	const char *sign = memchr(text, '&', len);

	return sign && sign > text && (sign[-1] == '>' || sign[-1] == '<') && target[0] &&
	       (!target[digits] || strcmp(target + digits, "-") == 0);
}

void shell_judge_redirect(struct shell *shell, uint32_t node)
{
	owned(str_done) struct str target = STR_INIT;
	uint32_t destination = syntax_child(shell->syntax, node, FIELD_DESTINATION);
	const struct syntax_node *it = &shell->syntax->nodes[node];
	bool is_out = memchr(shell->syntax->text + it->start, '>', it->end - it->start) != NULL;

	if (destination == SYNTAX_NONE)
		return;
	shell_word_add(shell, destination, &target);
	if (!is_descriptor(shell, node, str_cstr(&target)))
		job_keep_place(shell->job, is_out ? COMMAND_WRITES : COMMAND_READS,
			       str_cstr(&target));
	if (!is_out)
		shell_feed_from(shell, node, destination);
	/* curl ... > FILE: the file is what came. */
	if (is_out && (shell_fetches(shell, it->parent) || shell_unpacks(shell, it->parent)))
		shell_note_fetched(shell, str_cstr(&target));
	if (is_out || str_starts(str_cstr(&target), "/dev/tcp/"))
		judge_overwritten(shell, node, str_cstr(&target));
	else if (place_of(str_cstr(&target)) == PLACE_SECRET)
		job_find(shell->job, it->start, RULE_SECRET_READ, SEVERITY_HIGH, str_cstr(&target));
}

/* The grammar finds $(...) in a here-document, but not `...`; behind a quoted mark neither is run. */
static void judge_backticks(struct shell *shell, uint32_t node)
{
	size_t len;
	const char *text = syntax_source(shell->syntax, node, &len), *end = text + len, *close;
	/* <<-MARK: the mark ends where the shell's next word begins. */
	owned(free_ptr) char *source = xstrndup(text, len);
	char *mark = source + strspn(source, "0123456789<- \t");

	mark[strcspn(mark, " \t\n;|&<>")] = '\0';
	if (strpbrk(mark, "'\"\\"))
		return;
	for (const char *open = memchr(text, '`', len); open;
	     open = memchr(close, '`', (size_t)(end - close))) {
		close = memchr(open + 1, '`', (size_t)(end - open - 1));
		if (!close)
			return;
		(void)job_nested(shell->job, shell->syntax->nodes[node].start, SCAN_SHELL, open + 1,
				 (size_t)(close - open - 1));
		close++;
	}
}

void shell_judge_document(struct shell *shell, uint32_t node)
{
	owned(str_done) struct str text = STR_INIT;

	shell_document(shell, node, &text);
	shell_feed(shell, node, str_cstr(&text));
	if (shell->syntax->nodes[node].kind == NODE_HEREDOC)
		judge_backticks(shell, node);
}
