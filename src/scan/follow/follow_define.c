/* SPDX-License-Identifier: Apache-2.0 */
/* What gives names their meaning: imports, assignments, parameters, loops. */
#include "scan/follow/follow.h"

#include <string.h>

#define PATTERN_DEPTH_MAX 8u
/* A name keeps as many paths. */
#define WILDCARDS_MAX (2 * ABSTRACT_ALSO_MAX - 2)

/* Members have names of their own, which no identifier can have. */
static bool member_key(const char *name, size_t len, char key[static ABSTRACT_PATH_MAX])
{
	if (len + 1 >= ABSTRACT_PATH_MAX)
		return false;
	key[0] = '.';
	memcpy(key + 1, name, len);
	return true;
}

void follow_set_member(struct follow *follow, const char *name, size_t len,
		       const struct abstract_value *value)
{
	char key[ABSTRACT_PATH_MAX];

	if (member_key(name, len, key))
		abstract_values_define(&follow->all, key, len + 1, value);
}

const struct abstract_value *follow_get_member(const struct follow *follow, const char *name,
					       size_t len)
{
	const struct abstract_value *value = NULL;
	char key[ABSTRACT_PATH_MAX];

	if (member_key(name, len, key))
		(void)abstract_values_look_up(&follow->all, key, len + 1, &value);
	return value;
}

/* Directly in a class, or a block of one. */
static bool is_in_class(const struct syntax *syntax, uint32_t node)
{
	for (unsigned i = 0; i < 5 && node != SYNTAX_NONE; i++) {
		node = syntax->nodes[node].parent;
		if (node != SYNTAX_NONE && syntax->nodes[node].kind == NODE_CLASS)
			return true;
	}
	return false;
}

/* What is defined in a class is also a member of its objects. */
static void define(struct follow *follow, uint32_t name, const struct abstract_value *value)
{
	size_t len;
	const char *text = syntax_source(follow->syntax, name, &len);

	abstract_values_define(&follow->all, text, len, value);
	if (abstract_of_kind(value, ABSTRACT_PATH) && is_in_class(follow->syntax, name))
		follow_set_member(follow, text, len, value);
}

static const struct abstract_value *path_of(struct follow *follow, const char *text, size_t len)
{
	static const char prefix[] = "node:";

	if (len > sizeof(prefix) - 1 && memcmp(text, prefix, sizeof(prefix) - 1) == 0) {
		text += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	return abstract_new(&follow->all, ABSTRACT_PATH, text, len);
}

/* import a.b: the name that appears is `a`. import a.b as c: c is a.b. */
static void python_import(struct follow *follow, uint32_t child)
{
	const struct syntax *syntax = follow->syntax;
	size_t len;
	const char *text;

	if (syntax->nodes[child].kind == NODE_ALIASED_IMPORT) {
		uint32_t name = syntax_child(syntax, child, FIELD_NAME);
		uint32_t alias = syntax_child(syntax, child, FIELD_ALIAS);

		if (name == SYNTAX_NONE || alias == SYNTAX_NONE)
			return;
		text = syntax_source(follow->syntax, name, &len);
		define(follow, alias, path_of(follow, text, len));
		return;
	}
	text = syntax_source(follow->syntax, child, &len);
	if (memchr(text, '.', len))
		len = (size_t)((const char *)memchr(text, '.', len) - text);
	abstract_values_define(&follow->all, text, len, path_of(follow, text, len));
}

static void imported_name(struct follow *follow, const struct abstract_value *module,
			  uint32_t child)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t name = child, alias = child;
	size_t len;
	const char *text;

	if (syntax->nodes[child].kind == NODE_ALIASED_IMPORT ||
	    syntax->nodes[child].kind == NODE_IMPORT_SPECIFIER) {
		name = syntax_child(syntax, child, FIELD_NAME);
		alias = syntax_child(syntax, child, FIELD_ALIAS);
		alias = alias == SYNTAX_NONE ? name : alias;
	}
	if (name == SYNTAX_NONE || !module)
		return;
	text = syntax_source(follow->syntax, name, &len);
	define(follow, alias, abstract_member(&follow->all, module, text, len));
	if (follow->language == SCAN_PYTHON && follow_is_module_everywhere(text, len))
		define(follow, alias, path_of(follow, text, len));
}

void follow_wildcard(struct follow *follow, const char *module)
{
	if (strv_has(&follow->wildcards, module))
		return;
	if (follow->wildcards.count < WILDCARDS_MAX)
		strv_add(&follow->wildcards, module);
	else
		follow->all.is_full = true;
}

static void python_from(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t from = syntax_child(syntax, node, FIELD_MODULE);
	const struct abstract_value *module;
	size_t len;
	const char *text;

	if (from == SYNTAX_NONE)
		return;
	text = syntax_source(follow->syntax, from, &len);
	module = path_of(follow, text, len);
	for (uint32_t child = syntax_first(syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		if (syntax->nodes[child].kind == NODE_WILDCARD_IMPORT && module)
			follow_wildcard(follow, module->text);
		else if (syntax->nodes[child].field == FIELD_NAME)
			imported_name(follow, module, child);
	}
}

/* import fs, * as cp, {exec as e} from "..."; the parts end before the statement does, so they are looked at here. */
static void javascript_import(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	const struct abstract_value *text =
		follow_text(follow, syntax_child(syntax, node, FIELD_MODULE));
	const struct abstract_value *module = text ? path_of(follow, text->text, text->len) : NULL;

	for (uint32_t at = node + 1; at < syntax->nodes[node].after; at++) {
		uint32_t kind = syntax->nodes[at].kind;
		uint32_t parent = syntax->nodes[syntax->nodes[at].parent].kind;

		if (kind == NODE_IMPORT_SPECIFIER)
			imported_name(follow, module, at);
		if (kind == NODE_IDENTIFIER &&
		    (parent == NODE_IMPORT_CLAUSE || parent == NODE_NAMESPACE_IMPORT))
			define(follow, at, module);
	}
}

static void import(struct follow *follow, uint32_t node)
{
	if (follow->language == SCAN_JAVASCRIPT) {
		javascript_import(follow, node);
		return;
	}
	for (uint32_t child = syntax_first(follow->syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(follow->syntax, child))
		python_import(follow, child);
}

/* The member NAME of whatever paths MEANING has, or of any object of the program that has one. */
static const struct abstract_value *member_of(struct follow *follow,
					      const struct abstract_value *value, uint32_t name)
{
	size_t len;
	const char *text = syntax_source(follow->syntax, name, &len);
	const struct abstract_value *result = follow_get_member(follow, text, len);

	for (; value; value = value->also) {
		if (value->kind == ABSTRACT_PATH)
			result = abstract_both(&follow->all, result,
					       abstract_member(&follow->all, value, text, len));
	}
	return result;
}

static void destructure(struct follow *follow, uint32_t pattern, const struct abstract_value *right,
			unsigned depth);

/* spawn: s and a: {b}. */
static void define_pair(struct follow *follow, uint32_t target, const struct abstract_value *value,
			unsigned depth)
{
	if (follow->syntax->nodes[target].kind == NODE_OBJECT_PATTERN && depth < PATTERN_DEPTH_MAX)
		destructure(follow, target, value, depth + 1);
	else
		define(follow, target, value);
}

/* const {exec, spawn: s, a: {b}} = require("child_process"), and a, b = os, sys. */
static void destructure(struct follow *follow, uint32_t pattern, const struct abstract_value *right,
			unsigned depth)
{
	const struct syntax *syntax = follow->syntax;
	const struct abstract_value *list = abstract_of_kind(right, ABSTRACT_LIST);
	uint32_t item = list ? syntax_first(syntax, list->node) : SYNTAX_NONE;

	for (uint32_t child = syntax_first(syntax, pattern); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		uint32_t key = syntax_child(syntax, child, FIELD_KEY);
		uint32_t value = syntax_child(syntax, child, FIELD_VALUE);
		/* {x = default} */
		uint32_t left = syntax_child(syntax, child, FIELD_LEFT);
		uint32_t name = left == SYNTAX_NONE ? child : left;
		bool is_pair = syntax->nodes[child].kind == NODE_PAIR && key != SYNTAX_NONE &&
			       value != SYNTAX_NONE;

		if (syntax->nodes[name].kind == NODE_SHORTHAND)
			define(follow, name, member_of(follow, right, name));
		else if (is_pair)
			define_pair(follow, value, member_of(follow, right, key), depth);
		else if (syntax->nodes[name].kind == NODE_IDENTIFIER)
			define(follow, name, item == SYNTAX_NONE ? NULL : follow->of[item]);
		item = item == SYNTAX_NONE ? SYNTAX_NONE : syntax_next(syntax, item);
	}
}

void follow_destructure(struct follow *follow, uint32_t pattern, const struct abstract_value *right)
{
	destructure(follow, pattern, right, 0);
}

static void assign(struct follow *follow, uint32_t left, uint32_t right)
{
	uint32_t kind;

	if (left == SYNTAX_NONE)
		return;
	kind = follow->syntax->nodes[left].kind;
	if (kind == NODE_OBJECT_PATTERN && right != SYNTAX_NONE)
		destructure(follow, left, follow->of[right], 0);
	else if (kind == NODE_IDENTIFIER || kind == NODE_ATTRIBUTE || kind == NODE_SUBSCRIPT ||
		 kind == NODE_SHORTHAND)
		define(follow, left, right == SYNTAX_NONE ? NULL : follow->of[right]);
}

static void assignment(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t left = syntax_child(syntax, node, FIELD_LEFT);
	uint32_t right = syntax_child(syntax, node, FIELD_RIGHT);

	/* let x = ... has a name and a value. */
	if (left == SYNTAX_NONE) {
		left = syntax_child(syntax, node, FIELD_NAME);
		right = syntax_child(syntax, node, FIELD_VALUE);
	}
	assign(follow, left, right);
}

static void augmented(struct follow *follow, uint32_t node)
{
	uint32_t left = syntax_child(follow->syntax, node, FIELD_LEFT);
	uint32_t right = syntax_child(follow->syntax, node, FIELD_RIGHT);

	if (left == SYNTAX_NONE || right == SYNTAX_NONE)
		return;
	if (follow_text(follow, left))
		define(follow, left,
		       follow_join(follow, follow_text(follow, left), follow_text(follow, right)));
	/* x ??= require("fs") */
	else if (abstract_of_kind(follow->of[right], ABSTRACT_PATH))
		define(follow, left, follow->of[right]);
}

/* A parameter's name is the program's own; its default is one thing it may mean. */
static void parameters(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;

	for (uint32_t child = syntax_first(syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		uint32_t inner = syntax_first(syntax, child);

		if (syntax->nodes[child].kind == NODE_IDENTIFIER)
			define(follow, child, NULL);
		else if (syntax->nodes[child].kind == NODE_OBJECT_PATTERN)
			destructure(follow, child, NULL, 0);
		else if (inner != SYNTAX_NONE && syntax->nodes[inner].kind == NODE_IDENTIFIER)
			define(follow, inner, NULL);
	}
}

/* for f in glob.glob("/home/a*"): a name below what stands before the pattern. */
static const struct abstract_value *matched(struct follow *follow, uint32_t call)
{
	const struct abstract_value *pattern =
		follow->syntax->nodes[call].kind == NODE_CALL
			? follow_text(follow, follow_argument(follow, call, 0))
			: NULL;
	const struct abstract_value before = {
		.kind = ABSTRACT_TEXT,
		.text = pattern ? pattern->text : "",
		.len = pattern ? (uint32_t)strcspn(pattern->text, "*?[") : 0
	};

	return before.len > 0 ? follow_join(follow, &before, NULL) : NULL;
}

/* for p in Path("x").rglob("*"): what a directory gives is of the same kind as the directory. */
static const struct abstract_value *entry_of(struct follow *follow, uint32_t right)
{
	static const char path[] = "pathlib.Path()";
	const struct abstract_value *from =
		right == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[right], ABSTRACT_PATH);

	if (from &&
	    (strcmp(from->text, "glob.glob()") == 0 || strcmp(from->text, "glob.iglob()") == 0))
		return matched(follow, right);
	if (!from || !str_starts(from->text, "pathlib.Path().") || !str_ends(from->text, "()"))
		return NULL;
	return abstract_new(&follow->all, ABSTRACT_PATH, path, sizeof(path) - 1);
}

bool follow_may_matter(const struct follow *follow, uint32_t item, uint32_t position)
{
	const struct abstract_value *path = abstract_of_kind(follow->of[item], ABSTRACT_PATH);
	const struct abstract_value *text = abstract_of_kind(follow->of[item], ABSTRACT_TEXT);

	if (position < ABSTRACT_ALSO_MAX)
		return path || text;
	return (path && follow->all.severity(path) > 0) || (text && follow->all.severity(text) > 0);
}

static void loop(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t left = syntax_child(syntax, node, FIELD_LEFT);
	uint32_t right = syntax_child(syntax, node, FIELD_RIGHT);
	uint32_t list = follow_list(follow, right);

	if (left == SYNTAX_NONE || syntax->nodes[left].kind != NODE_IDENTIFIER)
		return;
	define(follow, left, entry_of(follow, right));
	for (uint32_t item = list == SYNTAX_NONE ? SYNTAX_NONE : syntax_first(syntax, list), i = 0;
	     item != SYNTAX_NONE && follow_spend(follow, 1);
	     item = syntax_next(syntax, item), i++) {
		if (follow_may_matter(follow, item, i))
			define(follow, left, follow->of[item]);
	}
}

/* with socket.socket() as s */
static void as_pattern(struct follow *follow, uint32_t node)
{
	uint32_t from = syntax_first(follow->syntax, node);
	uint32_t alias = syntax_child(follow->syntax, node, FIELD_ALIAS);

	if (from != SYNTAX_NONE && alias != SYNTAX_NONE)
		define(follow, alias, follow->of[from]);
}

/* {run: os.system}: whatever is reached by that name in this file may be it. */
static void member_value(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t key = syntax_child(syntax, node, FIELD_KEY);
	uint32_t value = syntax_child(syntax, node, FIELD_VALUE);
	const struct abstract_value *text;
	size_t len;
	const char *name;

	/* A field of a class has a name where a pair has a key. */
	if (key == SYNTAX_NONE)
		key = syntax_child(syntax, node, FIELD_MEMBER);
	text = follow_text(follow, key);
	if (key == SYNTAX_NONE || value == SYNTAX_NONE ||
	    !abstract_of_kind(follow->of[value], ABSTRACT_PATH) ||
	    syntax->nodes[syntax->nodes[node].parent].kind == NODE_OBJECT_PATTERN)
		return;
	name = text ? text->text : syntax_source(follow->syntax, key, &len);
	follow_set_member(follow, name, text ? text->len : len, follow->of[value]);
}

void follow_define(struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t name;

	switch (syntax->nodes[node].kind) {
	case NODE_IMPORT:
		import(follow, node);
		break;
	case NODE_IMPORT_FROM:
		python_from(follow, node);
		break;
	case NODE_ASSIGNMENT:
		assignment(follow, node);
		break;
	case NODE_AUGMENTED:
		augmented(follow, node);
		break;
	case NODE_NAMED_EXPRESSION:
	case NODE_DEFAULT_PARAMETER:
		assign(follow, syntax_child(syntax, node, FIELD_NAME),
		       syntax_child(syntax, node, FIELD_VALUE));
		break;
	case NODE_PARAMETERS:
		parameters(follow, node);
		break;
	case NODE_FOR:
		loop(follow, node);
		break;
	case NODE_AS_PATTERN:
		as_pattern(follow, node);
		break;
	case NODE_FUNCTION:
		name = syntax_child(syntax, node, FIELD_NAME);
		if (name != SYNTAX_NONE)
			define(follow, name, NULL);
		follow_place(follow, node);
		break;
	case NODE_ARROW_FUNCTION:
		follow_body(follow, node);
		follow_place(follow, node);
		break;
	case NODE_CALL:
		follow_handed(follow, node);
		break;
	case NODE_RETURN:
		follow_returned(follow, node);
		break;
	case NODE_PAIR:
		member_value(follow, node);
		break;
	default:
		break;
	}
}
