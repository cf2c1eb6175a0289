/* SPDX-License-Identifier: Apache-2.0 */
/* What methods of texts, and of lists of texts, come to. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/follow/follow_call.h"

#include <string.h>

const struct abstract_value *call_made_text(const struct call *call, const struct str *text)
{
	struct abstract_value *made =
		abstract_new(&call->follow->all, ABSTRACT_TEXT, str_cstr(text), text->len);

	if (made)
		made->is_built = true;
	return made;
}

const struct abstract_value *call_text(const struct call *call, unsigned position)
{
	return follow_text(call->follow, follow_argument(call->follow, call->node, position));
}

static const struct abstract_value *join_items(const struct call *call,
					       const struct abstract_value *between, uint32_t list)
{
	const struct syntax *syntax = call->follow->syntax;
	owned(str_done) struct str out = STR_INIT;
	bool is_first = true;

	for (uint32_t at = syntax_first(syntax, list);
	     at != SYNTAX_NONE && out.len <= ABSTRACT_TEXT_MAX; at = syntax_next(syntax, at)) {
		const struct abstract_value *part = follow_text(call->follow, at);

		if (!is_first && between)
			str_add_bytes(&out, between->text, between->len);
		if (part)
			str_add_bytes(&out, part->text, part->len);
		else
			str_add_char(&out, FOLD_GAP);
		is_first = false;
	}
	return call_made_text(call, &out);
}

/* /-/g or /[-_]/g as the letters it stands for; NULL when it is more than that. */
static char *regex_letters(const struct call *call)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);
	const struct syntax_node *it =
		first == SYNTAX_NONE ? NULL : &call->follow->syntax->nodes[first];
	const char *text = it ? call->follow->syntax->text + it->start : "";
	size_t len;

	if (text[0] != '/')
		return NULL;
	text += text[1] == '[' ? 2 : 1;
	len = strcspn(text, "/]\n\\");
	return len > 0 && (len == 1 || text[-1] == '[') ? xstrndup(text, len) : NULL;
}

static const struct abstract_value *replaced(const struct call *call,
					     const struct abstract_value *text)
{
	const struct abstract_value *old = call_text(call, 0), *new = call_text(call, 1);
	owned(str_done) struct str out = STR_INIT;
	const char *at = text->text, *found;

	owned(free_ptr) char *letters = old ? NULL : regex_letters(call);

	if (!new || (!old && !letters) || (old && old->len == 0))
		return NULL;
	for (const char *c = text->text; letters && *c && out.len <= ABSTRACT_TEXT_MAX; c++) {
		if (strchr(letters, *c))
			str_add_bytes(&out, new->text, new->len);
		else
			str_add_char(&out, *c);
	}
	if (letters)
		return call_made_text(call, &out);
	while (out.len <= ABSTRACT_TEXT_MAX && (found = strstr(at, old->text))) {
		str_add_bytes(&out, at, (size_t)(found - at));
		str_add_bytes(&out, new->text, new->len);
		at = found + old->len;
	}
	str_add(&out, at);
	return call_made_text(call, &out);
}

const struct abstract_value *call_changed(const struct call *call,
					  const struct abstract_value *text, const char *method)
{
	owned(str_done) struct str out = STR_INIT;

	if (strcmp(method, "reverse") == 0 || strcmp(method, "toReversed") == 0) {
		fold_reverse(&out, text->text, text->len);
		return call_made_text(call, &out);
	}
	for (size_t i = 0; i < text->len; i++) {
		char c = text->text[i];
		bool is_upper = c >= 'A' && c <= 'Z', is_lower = c >= 'a' && c <= 'z';
		bool to_lower = str_starts(method, "lower") || str_starts(method, "toLower");
		bool to_upper = str_starts(method, "upper") || str_starts(method, "toUpper");

		if ((is_upper && to_lower) || (is_lower && to_upper) ||
		    ((is_upper || is_lower) && strcmp(method, "swapcase") == 0))
			c = (char)(c ^ 0x20);
		str_add_char(&out, c);
	}
	return call_made_text(call, &out);
}

/* Those that give the text as it is, or as a list of its letters. */
static bool keeps_text(const char *method)
{
	return in_list("decode encode strip trim toString valueOf split normalize tobytes lstrip "
		       "rstrip format",
		       method);
}

/* TEXT.split(SEPARATOR).join(BETWEEN), and [...TEXT].join(""). */
static const struct abstract_value *joined_again(const struct call *call,
						 const struct abstract_value *text)
{
	const struct syntax *syntax = call->follow->syntax;
	uint32_t callee = syntax_child(syntax, call->node, FIELD_CALLEE);
	uint32_t object = syntax_child(syntax, callee, FIELD_OBJECT);
	const struct call split = { call->follow, object };
	const struct abstract_value *between = call_text(call, 0), *separator = NULL;
	owned(str_done) struct str out = STR_INIT;
	const char *at = text->text, *found;

	if (object != SYNTAX_NONE && syntax->nodes[object].kind == NODE_CALL)
		separator = call_text(&split, 0);
	if (!separator || separator->len == 0)
		return text;
	while (out.len <= ABSTRACT_TEXT_MAX && (found = strstr(at, separator->text))) {
		str_add_bytes(&out, at, (size_t)(found - at));
		if (between)
			str_add_bytes(&out, between->text, between->len);
		at = found + separator->len;
	}
	str_add(&out, at);
	return call_made_text(call, &out);
}

static const struct abstract_value *text_method(const struct call *call,
						const struct abstract_value *text,
						const char *method)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);
	uint32_t list = follow_list(call->follow, first);

	if (strcmp(method, "join") == 0 && list != SYNTAX_NONE)
		return join_items(call, text, list);
	if (strcmp(method, "join") == 0 && call->follow->language == SCAN_JAVASCRIPT)
		return joined_again(call, text);
	/* "".join(reversed("...")). */
	if (strcmp(method, "join") == 0)
		return follow_text(call->follow, first);
	if (strncmp(method, "replace", strlen("replace")) == 0)
		return replaced(call, text);
	if (strcmp(method, "concat") == 0)
		return follow_join(call->follow, text, call_text(call, 0));
	if (keeps_text(method))
		return text;
	if (in_list("reverse toReversed lower upper toLowerCase toUpperCase swapcase", method))
		return call_changed(call, text, method);
	return NULL;
}

/* The callee as OBJECT.METHOD; SYNTAX_NONE when it is something else. */
static uint32_t object_of(const struct call *call, uint32_t callee, char method[static 32])
{
	const struct syntax *syntax = call->follow->syntax;
	uint32_t member_node;
	size_t len;

	if (syntax->nodes[callee].kind != NODE_ATTRIBUTE)
		return SYNTAX_NONE;
	member_node = syntax_child(syntax, callee, FIELD_MEMBER);
	if (member_node == SYNTAX_NONE)
		return SYNTAX_NONE;
	len = syntax->nodes[member_node].end - syntax->nodes[member_node].start;
	if (len >= 32)
		return SYNTAX_NONE;
	memcpy(method, syntax->text + syntax->nodes[member_node].start, len);
	method[len] = '\0';
	return syntax_child(syntax, callee, FIELD_OBJECT);
}

/* {"a": os.system}.get("a"), os.__dict__.get("system"): of other things than modules, get asks for anything. */
static const struct abstract_value *got(const struct call *call, uint32_t object,
					const struct abstract_value *name)
{
	static const char modules[] =
		"os subprocess builtins __builtins__ posix shutil process "
		"child_process globals() locals() vars() sys.modules globalThis";
	const struct abstract_value *path =
		abstract_of_kind(call->follow->of[object], ABSTRACT_PATH);
	const struct abstract_value *own = follow_get_member(call->follow, name->text, name->len);

	if (!path || !in_list(modules, path->text))
		return own;
	return abstract_both(&call->follow->all, own, follow_pick(call->follow, object, name));
}

const struct abstract_value *call_method(const struct call *call, uint32_t callee)
{
	char method[32];
	uint32_t object = object_of(call, callee, method);
	uint32_t list = object == SYNTAX_NONE ? SYNTAX_NONE : follow_list(call->follow, object);
	const struct abstract_value *text =
		object == SYNTAX_NONE ? NULL : follow_text(call->follow, object);

	/* ["e", "val"].join("") */
	if (list != SYNTAX_NONE && strcmp(method, "join") == 0)
		return join_items(call, call_text(call, 0), list);
	/* A promise, a weak reference: what is in it. */
	if (object != SYNTAX_NONE && strcmp(method, "deref") == 0)
		return call->follow->of[object];
	if (object != SYNTAX_NONE && !text && call_text(call, 0) &&
	    in_list("get pop setdefault __getitem__ __getattribute__", method))
		return got(call, object, call_text(call, 0));
	return text ? text_method(call, text, method) : NULL;
}
