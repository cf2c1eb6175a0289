/* SPDX-License-Identifier: Apache-2.0 */
/* What literals say, with their escapes read and their gaps kept. */
#include "base/core/own.h"
#include "scan/follow/fold.h"
#include "scan/follow/follow.h"

#include <ctype.h>
#include <string.h>

/* The part between the quotes; false when there are none. */
static bool find_body(const struct follow *follow, const struct syntax_node *node,
		      uint32_t *ret_start, uint32_t *ret_end, bool *ret_raw)
{
	const char *text = follow->syntax->text;
	uint32_t start = node->start, quotes = 1;

	*ret_raw = false;
	while (start < node->end && isalpha((unsigned char)text[start])) {
		*ret_raw = *ret_raw || tolower((unsigned char)text[start]) == 'r';
		start++;
	}
	if (start >= node->end || !strchr("'\"`", text[start]))
		return false;
	if (node->end - start >= 6 && text[start] == text[start + 1] &&
	    text[start] == text[start + 2])
		quotes = 3;
	if (node->end - start < 2 * quotes)
		return false;
	*ret_start = start + quotes;
	*ret_end = node->end - quotes;
	return true;
}

static void add_part(struct str *out, const char *bytes, size_t len, bool is_raw, bool *hides)
{
	if (is_raw)
		str_add_bytes(out, bytes, len);
	else
		fold_escapes(out, bytes, len, hides);
}

/* One way to read the literal (follow_each_way). */
static const struct abstract_value *read_literal(struct follow *follow, uint32_t node,
						 unsigned which, unsigned *rounds)
{
	const struct syntax *syntax = follow->syntax;
	owned(str_done) struct str out = STR_INIT;
	bool is_raw, hides = false;
	struct abstract_value *made;
	uint32_t at, end, body;

	if (!find_body(follow, &syntax->nodes[node], &at, &end, &is_raw))
		return NULL;
	body = at;
	for (uint32_t child = syntax_first(syntax, node);
	     child != SYNTAX_NONE && out.len <= ABSTRACT_TEXT_MAX;
	     child = syntax_next(syntax, child)) {
		const struct syntax_node *it = &syntax->nodes[child];
		const struct abstract_value *part;

		if (it->kind != NODE_INTERPOLATION || it->start < at || it->end > end)
			continue;
		add_part(&out, syntax->text + at, it->start - at, is_raw, &hides);
		part = follow_part(follow_text(follow, child), which, rounds);
		if (part)
			str_add_bytes(&out, part->text, part->len);
		else
			str_add_char(&out, FOLD_GAP);
		/* `${x}` alone is x, whatever that is. */
		hides = hides || (part && (it->start > body || it->end < end));
		at = it->end;
	}
	add_part(&out, syntax->text + at, end - at, is_raw, &hides);
	made = abstract_new(&follow->all, ABSTRACT_TEXT, str_cstr(&out), out.len);
	if (made)
		made->is_built = hides;
	return made;
}

static const struct abstract_value *literal(struct follow *follow, uint32_t node)
{
	return follow_each_way(follow, node, read_literal);
}

const struct abstract_value *follow_string(struct follow *follow, uint32_t node)
{
	const struct abstract_value *all = NULL;
	bool is_first = true;

	if (follow->syntax->nodes[node].kind != NODE_CONCATENATION)
		return literal(follow, node);
	for (uint32_t child = syntax_first(follow->syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(follow->syntax, child)) {
		all = is_first ? follow_text(follow, child)
			       : follow_join(follow, all, follow_text(follow, child));
		is_first = false;
	}
	return all;
}
