/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program itself: what they return, reported where they are called. */
#include "base/core/own.h"
#include "scan/follow/follow.h"

#include <stdio.h>
#include <string.h>

/* A function without a name is known by its node, as no identifier is. */
#define KEY_SIZE (ABSTRACT_PATH_MAX + 16)
/* So many values are handed over at one place, and patterns of such a size taken apart. */
#define HANDED_MAX 64u
#define PATTERN_NODES_MAX 512u

/* "NAME()" for a node that names something; false when it is too long. */
static bool name_key(const struct follow *follow, uint32_t name, char key[static KEY_SIZE])
{
	const struct syntax_node *it = &follow->syntax->nodes[name];
	size_t len = it->end - it->start;

	if (len == 0 || len >= ABSTRACT_PATH_MAX)
		return false;
	memcpy(key, follow->syntax->text + it->start, len);
	memcpy(key + len, "()", sizeof("()"));
	return true;
}

static void node_key(uint32_t node, char key[static KEY_SIZE])
{
	(void)snprintf(key, KEY_SIZE, "#%u()", node);
}

/* Its own name, or that of what it is put into: const f = () => ..., {f: () => ...}, f = lambda: ... */
static uint32_t name_of(const struct syntax *syntax, uint32_t function)
{
	static const enum syntax_field fields[] = { FIELD_NAME, FIELD_LEFT, FIELD_KEY,
						    FIELD_MEMBER };
	uint32_t name = syntax_child(syntax, function, FIELD_NAME);
	uint32_t above = syntax->nodes[function].parent;

	if (name != SYNTAX_NONE || above == SYNTAX_NONE ||
	    (syntax->nodes[above].kind != NODE_ASSIGNMENT &&
	     syntax->nodes[above].kind != NODE_PAIR))
		return name;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && name == SYNTAX_NONE; i++)
		name = syntax_child(syntax, above, fields[i]);
	return name;
}

static void gives(struct follow *follow, uint32_t function, const struct abstract_value *value)
{
	uint32_t name = name_of(follow->syntax, function);
	char key[KEY_SIZE];

	if (!value)
		return;
	if (name == SYNTAX_NONE || !name_key(follow, name, key))
		node_key(function, key);
	abstract_values_define(&follow->all, key, strlen(key), value);
}

void follow_returned(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t value = syntax_first(syntax, node), at = node;

	while (at != SYNTAX_NONE && syntax->nodes[at].kind != NODE_FUNCTION &&
	       syntax->nodes[at].kind != NODE_ARROW_FUNCTION)
		at = syntax->nodes[at].parent;
	if (at != SYNTAX_NONE && value != SYNTAX_NONE)
		gives(follow, at, follow->of[value]);
}

void follow_body(struct follow *follow, uint32_t node)
{
	uint32_t body = syntax_child(follow->syntax, node, FIELD_BODY);

	if (body != SYNTAX_NONE)
		gives(follow, node, follow->of[body]);
}

const struct abstract_value *follow_own_function(struct follow *follow, uint32_t callee)
{
	const struct syntax *syntax = follow->syntax;
	const struct abstract_value *value = NULL;
	uint32_t name = callee, kind;
	char key[KEY_SIZE];

	while (syntax->nodes[name].kind == NODE_PARENTHESES &&
	       syntax_first(syntax, name) != SYNTAX_NONE)
		name = syntax_first(syntax, name);
	kind = syntax->nodes[name].kind;
	if (kind == NODE_ATTRIBUTE)
		name = syntax_child(syntax, name, FIELD_MEMBER);
	if (kind == NODE_FUNCTION || kind == NODE_ARROW_FUNCTION)
		node_key(name, key);
	else if (name == SYNTAX_NONE || (kind != NODE_ATTRIBUTE && kind != NODE_IDENTIFIER) ||
		 !name_key(follow, name, key))
		return NULL;
	(void)abstract_values_look_up(&follow->all, key, strlen(key), &value);
	return value;
}

/* Where the function stands that CALLEE names, as far as the text has been read; SYNTAX_NONE. */
static uint32_t function_of(const struct follow *follow, uint32_t callee)
{
	const struct syntax *syntax = follow->syntax;
	const struct abstract_value *value = NULL;
	char key[KEY_SIZE];

	while (syntax->nodes[callee].kind == NODE_PARENTHESES &&
	       syntax_first(syntax, callee) != SYNTAX_NONE)
		callee = syntax_first(syntax, callee);
	if (syntax->nodes[callee].kind == NODE_FUNCTION ||
	    syntax->nodes[callee].kind == NODE_ARROW_FUNCTION)
		return callee;
	if (syntax->nodes[callee].kind != NODE_IDENTIFIER || !name_key(follow, callee, key))
		return SYNTAX_NONE;
	key[strlen(key) - 1] = '@';
	(void)abstract_values_look_up(&follow->all, key, strlen(key), &value);
	value = abstract_of_kind(value, ABSTRACT_NUMBER);
	return value ? (uint32_t)value->number : SYNTAX_NONE;
}

bool follow_is_function(const struct follow *follow, uint32_t callee)
{
	return function_of(follow, callee) != SYNTAX_NONE;
}

void follow_place(struct follow *follow, uint32_t function)
{
	uint32_t name = name_of(follow->syntax, function);
	char key[KEY_SIZE];

	if (name == SYNTAX_NONE || !name_key(follow, name, key))
		return;
	key[strlen(key) - 1] = '@';
	abstract_values_define(&follow->all, key, strlen(key),
			       abstract_number(&follow->all, function));
}

/* What ARGUMENT means is what the parameter means, too; a function handed over is called by the parameter's name. */
static void hand(struct follow *follow, uint32_t parameter, uint32_t argument)
{
	const struct syntax_node *it = &follow->syntax->nodes[parameter];
	const struct abstract_value *value = follow->of[argument];
	uint32_t kind = follow->syntax->nodes[argument].kind;
	char key[KEY_SIZE];

	if (!follow_spend(follow, it->kind == NODE_OBJECT_PATTERN ? it->after - parameter : 1))
		return;
	if (it->kind == NODE_OBJECT_PATTERN && it->after - parameter <= PATTERN_NODES_MAX)
		follow_destructure(follow, parameter, value);
	if (it->kind != NODE_IDENTIFIER)
		return;
	if ((kind == NODE_FUNCTION || kind == NODE_ARROW_FUNCTION) &&
	    name_key(follow, parameter, key)) {
		key[strlen(key) - 1] = '@';
		abstract_values_define(&follow->all, key, strlen(key),
				       abstract_number(&follow->all, argument));
	}
	if (abstract_of_kind(value, ABSTRACT_PATH) || abstract_of_kind(value, ABSTRACT_TEXT))
		abstract_values_define(&follow->all, follow->syntax->text + it->start,
				       it->end - it->start, value);
}

/* The first parameter of a function, or SYNTAX_NONE. */
static uint32_t first_parameter(const struct syntax *syntax, uint32_t function)
{
	uint32_t child = syntax_first(syntax, function);

	/* x => ... has its only one there and then. */
	if (syntax->nodes[function].kind == NODE_ARROW_FUNCTION && child != SYNTAX_NONE &&
	    syntax->nodes[child].kind == NODE_IDENTIFIER)
		return child;
	while (child != SYNTAX_NONE && syntax->nodes[child].kind != NODE_PARAMETERS)
		child = syntax_next(syntax, child);
	return child == SYNTAX_NONE ? SYNTAX_NONE : syntax_first(syntax, child);
}

/* promise.then(f => ...), [a, b].forEach(f => ...): what comes out of the object is what the function is given. */
static void hand_out(struct follow *follow, uint32_t call, uint32_t callee)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t function = follow_argument(follow, call, 0), object, name, parameter, list;

	if (syntax->nodes[callee].kind != NODE_ATTRIBUTE || function == SYNTAX_NONE ||
	    (syntax->nodes[function].kind != NODE_FUNCTION &&
	     syntax->nodes[function].kind != NODE_ARROW_FUNCTION))
		return;
	object = syntax_child(syntax, callee, FIELD_OBJECT);
	name = syntax_child(syntax, callee, FIELD_MEMBER);
	parameter = first_parameter(syntax, function);
	if (object == SYNTAX_NONE || name == SYNTAX_NONE || parameter == SYNTAX_NONE)
		return;
	if (syntax_is(syntax, name, "then"))
		hand(follow, parameter, object);
	list = follow_list(follow, object);
	list = list == SYNTAX_NONE ? list : syntax_first(syntax, list);
	for (uint32_t item = list, i = 0; item != SYNTAX_NONE && follow_spend(follow, 1);
	     item = syntax_next(syntax, item), i++) {
		if (i < HANDED_MAX || follow_may_matter(follow, item, i))
			hand(follow, parameter, item);
	}
}

void follow_handed(struct follow *follow, uint32_t call)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t callee = syntax_child(syntax, call, FIELD_CALLEE);
	uint32_t function = callee == SYNTAX_NONE ? SYNTAX_NONE : function_of(follow, callee);
	uint32_t child = function == SYNTAX_NONE ? SYNTAX_NONE : first_parameter(syntax, function);

	if (callee != SYNTAX_NONE && follow->language == SCAN_JAVASCRIPT)
		hand_out(follow, call, callee);
	for (unsigned i = 0; i < HANDED_MAX && child != SYNTAX_NONE;
	     i++, child = syntax_next(syntax, child)) {
		uint32_t argument = follow_argument(follow, call, i);

		/* Of x => ... the body is what comes next. */
		if (argument == SYNTAX_NONE || syntax->nodes[child].field == FIELD_BODY)
			return;
		hand(follow, child, argument);
	}
}
