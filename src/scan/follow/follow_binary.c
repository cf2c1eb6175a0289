/* SPDX-License-Identifier: Apache-2.0 */
/* What operators make of texts and numbers. */
#include "base/core/own.h"
#include "scan/follow/fold.h"
#include "scan/follow/follow.h"

#include <string.h>

static uint64_t power(uint64_t base, uint64_t exponent)
{
	uint64_t result = 1;

	for (uint64_t i = 0; i < exponent && i < 64; i++)
		result *= base;
	return result;
}

static const struct abstract_value *calculate(struct follow *follow, const char *operator,
					      int64_t one, int64_t other)
{
	uint64_t a = (uint64_t)one, b = (uint64_t)other;

	if (operator[0] == '*' && operator[1] == '*')
		return abstract_number(&follow->all, (int64_t)power(a, b));
	switch (*operator) {
	case '+':
		return abstract_number(&follow->all, (int64_t)(a + b));
	case '-':
		return abstract_number(&follow->all, (int64_t)(a - b));
	case '*':
		return abstract_number(&follow->all, (int64_t)(a * b));
	case '^':
		return abstract_number(&follow->all, (int64_t)(a ^ b));
	default:
		return NULL;
	}
}

/* "%s%s" % ("sys", "tem"): each %s takes the next item. */
static const struct abstract_value *format(struct follow *follow, const struct abstract_value *text,
					   uint32_t right)
{
	owned(str_done) struct str out = STR_INIT;
	uint32_t list = follow_list(follow, right);
	uint32_t item = list == SYNTAX_NONE ? right : syntax_first(follow->syntax, list);
	struct abstract_value *made;

	for (size_t i = 0; i < text->len && out.len <= ABSTRACT_TEXT_MAX; i++) {
		const struct abstract_value *part;

		if (text->text[i] != '%' || i + 1 == text->len) {
			str_add_char(&out, text->text[i]);
			continue;
		}
		i++;
		part = item == SYNTAX_NONE ? NULL : follow_text(follow, item);
		if (part)
			str_add_bytes(&out, part->text, part->len);
		else
			str_add_char(&out, FOLD_GAP);
		item = list == SYNTAX_NONE || item == SYNTAX_NONE
			       ? SYNTAX_NONE
			       : syntax_next(follow->syntax, item);
	}
	made = abstract_new(&follow->all, ABSTRACT_TEXT, str_cstr(&out), out.len);
	if (made)
		made->is_built = true;
	return made;
}

/* Path.home() / ".ssh": still an object, with a longer path. */
static const struct abstract_value *below(struct follow *follow, uint32_t left,
					  const struct abstract_value *name)
{
	const struct abstract_value *slash = abstract_new(&follow->all, ABSTRACT_TEXT, "/", 1);
	const struct abstract_value *directory =
		follow_join(follow, follow_text(follow, left), slash);

	return abstract_both(&follow->all, abstract_of_kind(follow->of[left], ABSTRACT_PATH),
			     follow_join(follow, directory, name));
}

const struct abstract_value *follow_binary(struct follow *follow, uint32_t node)
{
	uint32_t left = syntax_child(follow->syntax, node, FIELD_LEFT);
	uint32_t right = syntax_child(follow->syntax, node, FIELD_RIGHT);
	uint32_t operator= syntax_child(follow->syntax, node, FIELD_OPERATOR);
	const struct abstract_value *one, *other;

	if (left == SYNTAX_NONE || right == SYNTAX_NONE || operator== SYNTAX_NONE)
		return NULL;
	one = abstract_of_kind(follow->of[left], ABSTRACT_NUMBER);
	other = abstract_of_kind(follow->of[right], ABSTRACT_NUMBER);
	if (one && other)
		return calculate(follow, follow->syntax->text + follow->syntax->nodes[operator].start,
				 one->number, other->number);
	if (syntax_is(follow->syntax, operator, "%") && follow_text(follow, left))
		return format(follow, follow_text(follow, left), right);
	if (syntax_is(follow->syntax, operator, "/") && follow->language == SCAN_PYTHON &&
	    follow_text(follow, left))
		return below(follow, left, follow_text(follow, right));
	if (!syntax_is(follow->syntax, operator, "+")) {
		/* a || b: either. */
		if (follow->language == SCAN_JAVASCRIPT)
			return abstract_both(&follow->all, follow->of[left], follow->of[right]);
		return NULL;
	}
	return follow_join(follow, follow_text(follow, left), follow_text(follow, right));
}
