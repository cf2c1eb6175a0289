/* SPDX-License-Identifier: Apache-2.0 */
/* Commands whose name is not known, or not written as it is. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/shell/shell_word.h"

#include <string.h>

static bool is_unknown(const char *word)
{
	return word[0] && strspn(word, (const char[]){ FOLD_GAP, '\0' }) == strlen(word);
}

/* What no program is given without reason: everything to go through, keys, disks. */
static bool is_grave(const struct strv *words)
{
	bool is_recursive = false, has_all = false;

	for (size_t i = 1; i < words->count; i++) {
		const char *word = words->items[i];
		enum place_kind place = place_of(str_starts(word, "of=") ? word + 3 : word);

		if (place == PLACE_DISK || place == PLACE_SECRET)
			return true;
		is_recursive =
			is_recursive || (word[0] == '-' && word[1] != '-' && strpbrk(word, "rR"));
		has_all = has_all || place == PLACE_EVERYTHING;
	}
	return is_recursive && has_all;
}

/* $(echo ... | tr ...): a name that other programs put together; $(which x) only finds one. */
static bool is_put_together(struct shell *shell, uint32_t command)
{
	const struct syntax *syntax = shell->syntax;
	uint32_t name = syntax_first(syntax, command);

	if (name == SYNTAX_NONE || syntax->nodes[name].kind != NODE_COMMAND_NAME)
		return false;
	for (uint32_t at = name + 1; at < syntax->nodes[name].after; at++) {
		owned(strv_done) struct strv words = STRV_INIT;

		if (syntax->nodes[at].kind != NODE_COMMAND)
			continue;
		shell_words(shell, at, &words);
		if (words.count > 0 && in_list("echo printf tr rev base64 base32 xxd cut sed awk "
					       "head tail dd curl wget",
					       command_name(words.items[0])))
			return true;
	}
	return false;
}

/* The same words, from AT on, the first of them without its gaps. */
static void judge_rest(struct shell *shell, uint32_t node, const struct strv *words, size_t at)
{
	owned(strv_done) struct strv rest = STRV_INIT;
	owned(str_done) struct str name = STR_INIT;

	for (const char *letter = words->items[at]; *letter; letter++) {
		if (*letter != FOLD_GAP)
			str_add_char(&name, *letter);
	}
	strv_add(&rest, str_cstr(&name));
	for (size_t i = at + 1; i < words->count; i++)
		strv_add(&rest, words->items[i]);
	judge_command(shell->job, shell->syntax->nodes[node].start, &rest);
}

void judge_hidden(struct shell *shell, uint32_t node, const struct strv *words)
{
	const char *first = words->items[0];
	uint32_t at = shell->syntax->nodes[node].start;

	if (strpbrk(first, "*?[") && command_may_be(command_name(first)))
		job_find(shell->job, at, RULE_OBFUSCATION, SEVERITY_HIGH, first);
	if (!strchr(first, FOLD_GAP))
		return;
	if (!is_unknown(first)) {
		judge_rest(shell, node, words, 0);
		return;
	}
	if (is_grave(words))
		job_find(shell->job, at, RULE_DYNAMIC_NAME, SEVERITY_HIGH, NULL);
	else
		job_find(shell->job, at, RULE_DYNAMIC_NAME,
			 is_put_together(shell, node) ? SEVERITY_MEDIUM : SEVERITY_LOW, NULL);
	/* $SUDO rm -rf x: what stands behind may be the command itself. */
	if (words->count > 1)
		judge_rest(shell, node, words, 1);
}
