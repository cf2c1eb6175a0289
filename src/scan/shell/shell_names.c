/* SPDX-License-Identifier: Apache-2.0 */
/* Shell texts: what changes the meaning of words, so that commands cannot be recognised by them. */
#include "scan/shell/shell_word.h"

#include <ctype.h>
#include <string.h>

/* [[ x -eq y ]], ((x)), $((x)), $[x]: a word in there is code, with commands in the subscripts it may have. */
static bool is_calculated(const struct shell *shell, const struct syntax_node *it)
{
	const char *text = shell->syntax->text + it->start;
	size_t len = it->end - it->start;

	return len > 3 && (memcmp(text, "[[", 2) == 0 || memcmp(text, "((", 2) == 0 ||
			   memcmp(text, "$((", 3) == 0 || memcmp(text, "$[", 2) == 0);
}

/* ${x:-w}, whose x the environment may set; or a variable in no word of a command: cat <<< "$x", case $x in. */
static bool is_loose_expansion(const struct syntax *syntax, uint32_t node)
{
	const struct syntax_node *it = &syntax->nodes[node];
	uint32_t field;

	for (uint32_t at = it->start + 2; at + 1 < it->end && syntax->text[it->start + 1] == '{';
	     at++) {
		if (!isalnum((unsigned char)syntax->text[at]) && syntax->text[at] != '_')
			return true;
	}
	do {
		field = it->field;
		it = &syntax->nodes[it->parent];
	} while (it->kind == NODE_STRING || it->kind == NODE_CONCATENATION ||
		 it->kind == NODE_COMMAND_NAME);
	return it->kind != NODE_COMMAND && it->kind != NODE_REDIRECT &&
	       (it->kind != NODE_FOR || field != FIELD_VALUE);
}

/* for PATH in .: the names that shells and programs heed have upper case letters. */
static bool sets_heeded(const struct syntax *syntax, uint32_t loop)
{
	uint32_t name = syntax_child(syntax, loop, FIELD_VARIABLE);
	size_t len = 0;
	const char *text = name == SYNTAX_NONE ? "" : syntax_source(syntax, name, &len);

	while (len > 0 && !isupper((unsigned char)text[len - 1]))
		len--;
	return len > 0;
}

bool shell_sets_names(const struct shell *shell, uint32_t node)
{
	switch (shell->syntax->nodes[node].kind) {
	case NODE_ASSIGNMENT:
	case NODE_FUNCTION:
	case NODE_DECLARATION:
		return true;
	case NODE_EXPANSION:
		return is_loose_expansion(shell->syntax, node) ||
		       is_calculated(shell, &shell->syntax->nodes[node]);
	case NODE_FOR:
		return sets_heeded(shell->syntax, node);
	default:
		return is_calculated(shell, &shell->syntax->nodes[node]);
	}
}
