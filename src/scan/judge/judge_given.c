/* SPDX-License-Identifier: Apache-2.0 */
/* What a function is given, however it is called, and loops that give without an end. */
#include "base/core/own.h"
#include "scan/judge/judge.h"

#include <string.h>

/* The item at POSITION of a list that is handed over as the arguments. */
static uint32_t item_at(const struct use *use, uint32_t argument, unsigned position)
{
	uint32_t list = follow_list(use->job->follow, argument);
	uint32_t at = list == SYNTAX_NONE ? list : syntax_first(use->job->syntax, list);

	for (; at != SYNTAX_NONE && position > 0; position--)
		at = syntax_next(use->job->syntax, at);
	return at;
}

/* f.call(x, a), f.apply(x, [a]) and Reflect.apply(f, x, [a]) are f(a). */
uint32_t use_argument(const struct use *use, unsigned position)
{
	const struct follow *follow = use->job->follow;
	const struct syntax *syntax = use->job->syntax;
	uint32_t callee = syntax_child(syntax, use->node, FIELD_CALLEE);
	uint32_t member = callee == SYNTAX_NONE || syntax->nodes[callee].kind != NODE_ATTRIBUTE ||
					  use->job->language != SCAN_JAVASCRIPT
				  ? SYNTAX_NONE
				  : syntax_child(syntax, callee, FIELD_MEMBER);

	if (member == SYNTAX_NONE)
		return follow_argument(follow, use->node, position);
	if (syntax_is(syntax, callee, "Reflect.apply"))
		return item_at(use, follow_argument(follow, use->node, 2), position);
	if (syntax_is(syntax, member, "apply"))
		return item_at(use, follow_argument(follow, use->node, 1), position);
	/* f.bind(x, a) will be f(a). */
	if (syntax_is(syntax, member, "call") || syntax_is(syntax, member, "bind"))
		position++;
	return follow_argument(follow, use->node, position);
}

void judge_own_text(const struct use *use)
{
	uint32_t first = use_argument(use, 0);
	const struct abstract_value *path =
		first == SYNTAX_NONE ? NULL
				     : abstract_of_kind(use->job->follow->of[first], ABSTRACT_PATH);

	if (path && (strcmp(path->text, "__filename") == 0 || strcmp(path->text, "__file__") == 0))
		use->job->traits |= TRAIT_SELF;
}

/* while (true), for (;;): without blanks, how an endless loop begins. */
static bool is_endless(const char *text, size_t len)
{
	static const char *const begins[] = { "for(;;)", "while(true)", "while(1)",
					      "whileTrue:", "while1:" };
	char head[16] = "";
	size_t used = 0;

	for (size_t i = 0; i < len && used + 1 < sizeof(head); i++) {
		if (!strchr(" \t\n", text[i]))
			head[used++] = text[i];
	}
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (str_starts(head, begins[i]))
			return true;
	}
	return false;
}

/* Whether something in a loop ends it, or makes it wait. */
static bool has_way_out(const char *text, size_t len)
{
	static const char *const words[] = { "break", "return", "throw", "raise", "await",
					     "yield", "sleep",	"exit",	 "wait",  "accept" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (memmem(text, len, words[i], strlen(words[i])))
			return true;
	}
	return false;
}

bool judge_goes_on(const struct scan_job *job, uint32_t node)
{
	const struct syntax *syntax = job->syntax;

	for (uint32_t at = node; at != SYNTAX_NONE; at = syntax->nodes[at].parent) {
		size_t len;
		const char *text = syntax_source(syntax, at, &len);

		if (syntax->nodes[at].kind == NODE_FUNCTION)
			return false;
		if (is_endless(text, len))
			return !has_way_out(text, len);
	}
	return false;
}
