/* SPDX-License-Identifier: Apache-2.0 */
/* Follows names and texts through a program: what each node means. */
#include "scan/follow/follow.h"

#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/follow/severity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* So many values are given to parameters and loops: a pattern counts as often as it is handed something. */
#define HANDED_MAX 2000000u
/* Longer texts are not put together in more than one way. */
#define ALTERNATIVE_MAX 256u

void follow_init(struct follow *follow, const struct syntax *syntax, enum scan_language language)
{
	*follow = (struct follow){ .syntax = syntax, .language = language };
	abstract_values_init(&follow->all);
	follow->all.severity = language == SCAN_PYTHON ? severity_python : severity_javascript;
	follow->of = xcalloc(syntax->count + 1, sizeof(const struct abstract_value *));
}

void follow_done(struct follow *follow)
{
	abstract_values_done(&follow->all);
	strv_done(&follow->wildcards);
	free(follow->of);
	follow->of = NULL;
}

const struct abstract_value *follow_text(const struct follow *follow, uint32_t node)
{
	return node == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[node], ABSTRACT_TEXT);
}

uint32_t follow_list(const struct follow *follow, uint32_t node)
{
	const struct abstract_value *list =
		node == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[node], ABSTRACT_LIST);

	return list ? list->node : SYNTAX_NONE;
}

/* The first item of what f(*list) hands over; SYNTAX_NONE when it is something else, or not known. */
static uint32_t splat_of(const struct follow *follow, uint32_t argument)
{
	uint32_t of = follow->syntax->nodes[argument].kind == NODE_SPLAT
			      ? syntax_first(follow->syntax, argument)
			      : SYNTAX_NONE;
	uint32_t list = follow_list(follow, of);

	return list == SYNTAX_NONE ? SYNTAX_NONE : syntax_first(follow->syntax, list);
}

uint32_t follow_argument(const struct follow *follow, uint32_t call, unsigned position)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t arguments = syntax_child(syntax, call, FIELD_ARGUMENTS);
	uint32_t at;

	if (arguments == SYNTAX_NONE)
		return SYNTAX_NONE;
	/* eval`text`, and a generator instead of a list. */
	if (syntax->nodes[arguments].kind != NODE_ARGUMENTS)
		return position == 0 ? arguments : SYNTAX_NONE;
	for (at = syntax_first(syntax, arguments); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		uint32_t item = splat_of(follow, at);

		for (; item != SYNTAX_NONE; item = syntax_next(syntax, item)) {
			if (position-- == 0)
				return item;
		}
		if (syntax->nodes[at].kind == NODE_KEYWORD_ARGUMENT ||
		    splat_of(follow, at) != SYNTAX_NONE)
			continue;
		if (position-- == 0)
			break;
	}
	return at;
}

uint32_t follow_keyword(const struct follow *follow, uint32_t call, const char *name)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t arguments = syntax_child(syntax, call, FIELD_ARGUMENTS);

	if (arguments == SYNTAX_NONE)
		return SYNTAX_NONE;
	for (uint32_t at = syntax_first(syntax, arguments); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		uint32_t key = syntax->nodes[at].kind == NODE_KEYWORD_ARGUMENT
				       ? syntax_child(syntax, at, FIELD_NAME)
				       : SYNTAX_NONE;

		if (key != SYNTAX_NONE && syntax_is(syntax, key, name))
			return syntax_child(syntax, at, FIELD_VALUE);
	}
	return SYNTAX_NONE;
}

/* These keep their meaning even where the program has something of the same name: it could be taken back. */
static bool is_sticky(const char *name, size_t len)
{
	return in_list_bytes("eval exec __import__ Function require getattr globals compile", name,
			     len);
}

bool follow_spend(struct follow *follow, uint32_t count)
{
	if (count > HANDED_MAX - follow->handed) {
		follow->all.is_full = true;
		return false;
	}
	follow->handed += count;
	return true;
}

const struct abstract_value *follow_name(struct follow *follow, const char *name, size_t len)
{
	const struct abstract_value *value;
	bool is_defined = abstract_values_look_up(&follow->all, name, len, &value);

	if (is_defined && !is_sticky(name, len))
		return value;
	value = abstract_both(&follow->all, value,
			      abstract_new(&follow->all, ABSTRACT_PATH, name, len));
	for (size_t i = 0; i < follow->wildcards.count; i++) {
		const struct abstract_value module = { .text = follow->wildcards.items[i],
						       .len = (uint32_t)strlen(
							       follow->wildcards.items[i]) };

		value = abstract_both(&follow->all, value,
				      abstract_member(&follow->all, &module, name, len));
	}
	return value;
}

static const struct abstract_value *number_of(struct follow *follow, uint32_t node)
{
	char digits[24] = "";
	size_t len, used = 0;
	const char *text = syntax_source(follow->syntax, node, &len);
	bool is_binary = len > 2 && text[0] == '0' && tolower((unsigned char)text[1]) == 'b';
	bool is_octal = len > 2 && text[0] == '0' && tolower((unsigned char)text[1]) == 'o';

	for (size_t i = is_binary || is_octal ? 2 : 0; i < len && used + 1 < sizeof(digits); i++)
		if (text[i] != '_')
			digits[used++] = text[i];
	return abstract_number(&follow->all, strtol(digits, NULL,
						    is_binary  ? 2
						    : is_octal ? 8
							       : 0));
}

const struct abstract_value *follow_alternative(const struct abstract_value *text, unsigned which)
{
	const struct abstract_value *one = text;

	while (which > 0 && one) {
		one = abstract_next(one);
		which--;
	}
	return one && one->len <= ALTERNATIVE_MAX ? one : text;
}

unsigned follow_alternatives(const struct abstract_value *text)
{
	unsigned count = 0;

	for (; text; text = abstract_next(text))
		count++;
	return count;
}

const struct abstract_value *follow_part(const struct abstract_value *part, unsigned which,
					 unsigned *rounds)
{
	unsigned count = follow_alternatives(part);

	if (count > *rounds)
		*rounds = count;
	return follow_alternative(part, which);
}

const struct abstract_value *follow_each_way(
	struct follow *follow, uint32_t node,
	const struct abstract_value *(*read)(struct follow *follow, uint32_t node, unsigned which,
					     unsigned *rounds))
{
	unsigned rounds = 1;
	const struct abstract_value *first = read(follow, node, 0, &rounds), *all = NULL;

	for (unsigned i = rounds - 1; first && i > 0; i--)
		all = abstract_both(&follow->all, all, read(follow, node, i, &rounds));
	return abstract_both(&follow->all, all, first);
}

static const struct abstract_value *join(struct follow *follow, const struct abstract_value *one,
					 const struct abstract_value *other)
{
	owned(str_done) struct str text = STR_INIT;
	struct abstract_value *joined;

	if (!one && !other)
		return NULL;
	if (one)
		str_add_bytes(&text, one->text, one->len);
	else
		str_add_char(&text, FOLD_GAP);
	if (other)
		str_add_bytes(&text, other->text, other->len);
	else
		str_add_char(&text, FOLD_GAP);
	joined = abstract_new(&follow->all, ABSTRACT_TEXT, str_cstr(&text), text.len);
	if (joined)
		joined->is_built = true;
	return joined;
}

const struct abstract_value *follow_join(struct follow *follow, const struct abstract_value *one,
					 const struct abstract_value *other)
{
	unsigned left = follow_alternatives(one), right = follow_alternatives(other);
	const struct abstract_value *all = NULL;

	for (unsigned i = left > right ? left : right; i > 0; i--)
		all = abstract_both(&follow->all, all,
				    join(follow, follow_alternative(one, i - 1),
					 follow_alternative(other, i - 1)));
	return all;
}

/* A member that is set somewhere in the program: self.runner = os.system. */
static const struct abstract_value *own_member(const struct follow *follow, uint32_t node)
{
	const struct abstract_value *value;
	size_t len;
	const char *text = syntax_source(follow->syntax, node, &len);

	(void)abstract_values_look_up(&follow->all, text, len, &value);
	return value;
}

static bool is_member_named(const struct follow *follow, uint32_t node, const char *name)
{
	uint32_t member = follow->syntax->nodes[node].kind == NODE_ATTRIBUTE
				  ? syntax_child(follow->syntax, node, FIELD_MEMBER)
				  : SYNTAX_NONE;

	return member != SYNTAX_NONE && syntax_is(follow->syntax, member, name);
}

static const struct abstract_value *built_path(struct follow *follow, const char *path)
{
	struct abstract_value *value =
		abstract_new(&follow->all, ABSTRACT_PATH, path, strlen(path));

	if (value)
		value->is_built = true;
	return value;
}

bool follow_is_module_everywhere(const char *name, size_t len)
{
	return in_list_bytes("os sys subprocess builtins socket shutil importlib posix", name, len);
}

static const struct abstract_value *attribute(struct follow *follow, uint32_t node)
{
	uint32_t object = syntax_child(follow->syntax, node, FIELD_OBJECT);
	uint32_t member = syntax_child(follow->syntax, node, FIELD_MEMBER);
	const struct abstract_value *result = own_member(follow, node);
	size_t len;
	const char *name;

	if (object == SYNTAX_NONE || member == SYNTAX_NONE)
		return NULL;
	if (follow->language == SCAN_JAVASCRIPT && is_member_named(follow, node, "constructor") &&
	    is_member_named(follow, object, "constructor"))
		return built_path(follow, "Function");
	name = syntax_source(follow->syntax, member, &len);
	result = abstract_both(&follow->all, result, follow_get_member(follow, name, len));
	/* eval.call(null, ...) is eval. */
	if (follow->language == SCAN_JAVASCRIPT && (syntax_is(follow->syntax, member, "call") ||
						    syntax_is(follow->syntax, member, "apply") ||
						    syntax_is(follow->syntax, member, "bind")))
		result = abstract_both(&follow->all, result, follow->of[object]);
	/* Objects of one module are as good as the module: os.__dict__, module.default. */
	if (syntax_is(follow->syntax, member, "__dict__") ||
	    syntax_is(follow->syntax, member, "__proto__") ||
	    syntax_is(follow->syntax, member, "default"))
		return abstract_both(&follow->all, result,
				     abstract_of_kind(follow->of[object], ABSTRACT_PATH));
	for (const struct abstract_value *one = follow->of[object]; one; one = one->also) {
		if (one->kind != ABSTRACT_PATH)
			continue;
		result = abstract_both(&follow->all, result,
				       abstract_member(&follow->all, one, name, len));
		if (follow->language == SCAN_PYTHON && follow_is_module_everywhere(name, len))
			result =
				abstract_both(&follow->all, result,
					      abstract_new(&follow->all, ABSTRACT_PATH, name, len));
	}
	return result;
}

/* What TEXT picks out of the object: os.__dict__["system"], globalThis["eval"], sys.modules["os"]. */
static const struct abstract_value *pick(struct follow *follow, const struct abstract_value *object,
					 const struct abstract_value *text)
{
	struct abstract_value *picked;

	if (strcmp(object->text, "globals()") == 0 || strcmp(object->text, "locals()") == 0 ||
	    strcmp(object->text, "vars()") == 0 || strcmp(object->text, "sys.modules") == 0)
		return follow_name(follow, text->text, text->len);
	picked = abstract_member(&follow->all, object, text->text, text->len);
	if (picked)
		picked->is_built = true;
	return picked;
}

const struct abstract_value *follow_pick(struct follow *follow, uint32_t object,
					 const struct abstract_value *name)
{
	const struct abstract_value *result = NULL;

	if (strchr(name->text, FOLD_GAP))
		return NULL;
	for (const struct abstract_value *one = follow->of[object]; one; one = one->also) {
		if (one->kind == ABSTRACT_PATH)
			result = abstract_both(&follow->all, result, pick(follow, one, name));
	}
	return result;
}

static const struct abstract_value *item_of(struct follow *follow, uint32_t list, int64_t index)
{
	uint32_t at = syntax_first(follow->syntax, list);

	while (at != SYNTAX_NONE && index-- > 0)
		at = syntax_next(follow->syntax, at);
	return at == SYNTAX_NONE ? NULL : follow->of[at];
}

static const struct abstract_value *reversed(struct follow *follow,
					     const struct abstract_value *text)
{
	owned(str_done) struct str out = STR_INIT;
	struct abstract_value *made;

	fold_reverse(&out, text->text, text->len);
	made = abstract_new(&follow->all, ABSTRACT_TEXT, str_cstr(&out), out.len);
	if (made)
		made->is_built = true;
	return made;
}

static const struct abstract_value *subscript(struct follow *follow, uint32_t node)
{
	enum syntax_field field = follow->language == SCAN_PYTHON ? FIELD_VALUE : FIELD_OBJECT;
	uint32_t object = syntax_child(follow->syntax, node, field);
	uint32_t index = syntax_child(follow->syntax, node, FIELD_INDEX);
	const struct abstract_value *result = own_member(follow, node), *text, *number;

	if (object == SYNTAX_NONE || index == SYNTAX_NONE)
		return result;
	text = follow_text(follow, index);
	number = abstract_of_kind(follow->of[index], ABSTRACT_NUMBER);
	if (syntax_is(follow->syntax, index, "::-1") && follow_text(follow, object))
		return reversed(follow, follow_text(follow, object));
	if (number && follow_list(follow, object) != SYNTAX_NONE)
		return item_of(follow, follow_list(follow, object), number->number);
	if (text)
		result = abstract_both(&follow->all, result,
				       follow_get_member(follow, text->text, text->len));
	return text ? abstract_both(&follow->all, result, follow_pick(follow, object, text))
		    : result;
}

/* What the first, or the last, of its parts means. */
static const struct abstract_value *part_of(const struct follow *follow, uint32_t node,
					    bool is_last)
{
	uint32_t at = syntax_first(follow->syntax, node);

	while (is_last && at != SYNTAX_NONE && syntax_next(follow->syntax, at) != SYNTAX_NONE)
		at = syntax_next(follow->syntax, at);
	return at == SYNTAX_NONE ? NULL : follow->of[at];
}

/* One of two: either. What decides is among the parts, and means nothing that is called. */
static const struct abstract_value *any_part(struct follow *follow, uint32_t node)
{
	const struct abstract_value *all = NULL;

	for (uint32_t at = syntax_first(follow->syntax, node); at != SYNTAX_NONE;
	     at = syntax_next(follow->syntax, at))
		all = abstract_both(&follow->all, all, follow->of[at]);
	return all;
}

static const struct abstract_value *value_of(const struct follow *follow, uint32_t node)
{
	uint32_t value = syntax_child(follow->syntax, node, FIELD_VALUE);

	return value == SYNTAX_NONE ? NULL : follow->of[value];
}

static const struct abstract_value *abstract_of_node(struct follow *follow, uint32_t node)
{
	size_t len;
	const char *text = syntax_source(follow->syntax, node, &len);

	switch (follow->syntax->nodes[node].kind) {
	case NODE_IDENTIFIER:
		return follow_name(follow, text, len);
	case NODE_NUMBER:
		return number_of(follow, node);
	case NODE_STRING:
	case NODE_TEMPLATE:
	case NODE_CONCATENATION:
		return follow_string(follow, node);
	case NODE_BINARY:
		return follow_binary(follow, node);
	case NODE_PARENTHESES:
	case NODE_AWAIT:
	case NODE_SPLAT:
	case NODE_INTERPOLATION:
		return part_of(follow, node, false);
	case NODE_CONDITIONAL:
		return any_part(follow, node);
	case NODE_SEQUENCE:
		return part_of(follow, node, true);
	case NODE_KEYWORD_ARGUMENT:
	case NODE_NAMED_EXPRESSION:
		return value_of(follow, node);
	case NODE_LIST:
		return abstract_list(&follow->all, node);
	case NODE_ATTRIBUTE:
		return attribute(follow, node);
	case NODE_SUBSCRIPT:
		return subscript(follow, node);
	case NODE_CALL:
	case NODE_NEW:
		return follow_call(follow, node);
	case NODE_FUNCTION:
	case NODE_ARROW_FUNCTION:
		if (follow->language != SCAN_JAVASCRIPT)
			return NULL;
		return abstract_new(&follow->all, ABSTRACT_PATH, ABSTRACT_FUNCTION,
				    strlen(ABSTRACT_FUNCTION));
	default:
		return NULL;
	}
}

static void end_node(struct follow *follow, uint32_t node, bool is_second)
{
	follow->of[node] = abstract_of_node(follow, node);
	follow_define(follow, node);
	if (is_second && follow->visit)
		follow->visit(follow, node);
}

static void pass(struct follow *follow, bool is_second)
{
	const struct syntax_node *nodes = follow->syntax->nodes;
	uint32_t open = SYNTAX_NONE;

	for (uint32_t i = 0; i < follow->syntax->count; i++) {
		while (open != SYNTAX_NONE && nodes[open].after <= i) {
			end_node(follow, open, is_second);
			open = nodes[open].parent;
		}
		open = i;
	}
	for (; open != SYNTAX_NONE; open = nodes[open].parent)
		end_node(follow, open, is_second);
}

void follow_run(struct follow *follow)
{
	pass(follow, false);
	pass(follow, true);
}
