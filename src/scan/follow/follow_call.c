/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a call where it can be determined: texts put together and decoded, modules and members named by texts. */
#include "base/core/own.h"
#include "scan/follow/fold.h"
#include "scan/follow/follow_call.h"

#include <string.h>

/* So many parts of a path are looked at. */
#define JOINED_MAX 32u

/* Adds the characters that the numbers below LIST stand for; false when one is no number. */
static bool add_numbers(const struct call *call, uint32_t list, struct str *out)
{
	const struct syntax *syntax = call->follow->syntax;

	for (uint32_t at = syntax_first(syntax, list); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		const struct abstract_value *number =
			abstract_of_kind(call->follow->of[at], ABSTRACT_NUMBER);

		if (!number || number->number < 0)
			return false;
		fold_character(out, (unsigned long)number->number);
	}
	return true;
}

/* chr(105), String.fromCharCode(105, 100). */
static const struct abstract_value *characters(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	uint32_t arguments = syntax_child(call->follow->syntax, call->node, FIELD_ARGUMENTS);

	return add_numbers(call, arguments, &out) && out.len > 0 ? call_made_text(call, &out)
								 : NULL;
}

/* bytes([105, 100]), Buffer.from([105, 100]). */
static const struct abstract_value *numbers(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	uint32_t list = follow_list(call->follow, follow_argument(call->follow, call->node, 0));

	if (list == SYNTAX_NONE)
		return call_text(call, 0);
	return add_numbers(call, list, &out) ? call_made_text(call, &out) : NULL;
}

static const struct abstract_value *from_base64(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct abstract_value *text = call_text(call, 0);

	return text && fold_base64(&out, text->text, text->len) ? call_made_text(call, &out) : NULL;
}

static const struct abstract_value *from_hex(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct abstract_value *text = call_text(call, 0);

	return text && fold_hex(&out, text->text, text->len) ? call_made_text(call, &out) : NULL;
}

static const struct abstract_value *from_percent(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct abstract_value *text = call_text(call, 0);

	if (text)
		fold_percent(&out, text->text, text->len);
	return text ? call_made_text(call, &out) : NULL;
}

/* codecs.decode(text, "rot13"), Buffer.from(text, "hex"). */
static const struct abstract_value *by_encoding(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct abstract_value *text = call_text(call, 0), *how = call_text(call, 1);

	if (!text || !how)
		return numbers(call);
	if (str_starts(how->text, "rot"))
		fold_rot13(&out, text->text, text->len);
	else if (str_starts(how->text, "base64") && !fold_base64(&out, text->text, text->len))
		return NULL;
	else if (str_starts(how->text, "hex") && !fold_hex(&out, text->text, text->len))
		return NULL;
	return out.len > 0 ? call_made_text(call, &out) : text;
}

static const struct abstract_value *module_named(const struct call *call,
						 const struct abstract_value *text)
{
	const char *name = text->text;
	struct abstract_value *made;

	if (strchr(name, FOLD_GAP))
		return NULL;
	name += str_starts(name, "node:") ? strlen("node:") : 0;
	made = abstract_new(&call->follow->all, ABSTRACT_PATH, name, strlen(name));
	/* __import__("a.b") is a; require of a plain text is how it is always done. */
	if (made)
		made->is_built = text->is_built;
	return made;
}

/* The modules a text may name: __import__("os"), require("fs"). */
static const struct abstract_value *module(const struct call *call)
{
	const struct abstract_value *result = NULL;

	for (const struct abstract_value *one = call_text(call, 0); one; one = one->also) {
		if (one->kind == ABSTRACT_TEXT)
			result = abstract_both(&call->follow->all, result, module_named(call, one));
	}
	return result;
}

/* getattr(os, "system"), Reflect.get(globalThis, "eval"). */
static const struct abstract_value *member(const struct call *call)
{
	uint32_t object = follow_argument(call->follow, call->node, 0);
	const struct abstract_value *result = NULL;

	for (const struct abstract_value *name = call_text(call, 1); name; name = name->also) {
		if (object != SYNTAX_NONE && name->kind == ABSTRACT_TEXT)
			result = abstract_both(&call->follow->all, result,
					       follow_pick(call->follow, object, name));
	}
	return result;
}

/* pkgutil.resolve_name("os:system"), pydoc.locate("os.system"): a path in one text. */
static const struct abstract_value *resolved(const struct call *call)
{
	const struct abstract_value *text = call_text(call, 0);
	owned(free_ptr) char *path = text ? xstrdup(text->text) : NULL;
	struct abstract_value *made;

	if (!path || strchr(path, FOLD_GAP))
		return NULL;
	for (char *colon = strchr(path, ':'); colon; colon = strchr(colon, ':'))
		*colon = '.';
	made = abstract_new(&call->follow->all, ABSTRACT_PATH, path, strlen(path));
	if (made)
		made->is_built = true;
	return made;
}

/* What is handed over as it is: vars(os), str(text), functools.partial(os.system, ...). */
static const struct abstract_value *same(const struct call *call)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);

	return first == SYNTAX_NONE ? NULL : call->follow->of[first];
}

/* JSON.stringify(process.env): in another form, and still what it was. */
static const struct abstract_value *carried(const struct call *call)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);

	return first == SYNTAX_NONE ? NULL
				    : abstract_of_kind(call->follow->of[first], ABSTRACT_PATH);
}

/* Buffer.from(text, "hex"), Buffer.from(data) */
static const struct abstract_value *buffer(const struct call *call)
{
	const struct abstract_value *text = by_encoding(call);

	return text ? text : carried(call);
}

/* Object.assign({}, fs): what any of them is. */
static const struct abstract_value *any_of(const struct call *call)
{
	const struct abstract_value *result = NULL;

	for (unsigned i = 0; i < JOINED_MAX; i++) {
		uint32_t at = follow_argument(call->follow, call->node, i);

		if (at == SYNTAX_NONE)
			break;
		result = abstract_both(&call->follow->all, result, call->follow->of[at]);
	}
	return result;
}

/* One way to join them (follow_each_way). */
static const struct abstract_value *join_parts(struct follow *follow, uint32_t node, unsigned which,
					       unsigned *rounds)
{
	owned(str_done) struct str out = STR_INIT;
	bool is_any = false;

	for (unsigned i = 0; i < JOINED_MAX; i++) {
		uint32_t at = follow_argument(follow, node, i);
		const struct abstract_value *text;

		if (at == SYNTAX_NONE)
			break;
		text = follow_part(follow_text(follow, at), which, rounds);
		if (text && text->text[0] == '/')
			str_clear(&out);
		else if (out.len > 0 && out.data[out.len - 1] != '/')
			str_add_char(&out, '/');
		is_any = is_any || text;
		if (text)
			str_add_bytes(&out, text->text, text->len);
		else
			str_add_char(&out, FOLD_GAP);
	}
	return is_any ? abstract_new(&follow->all, ABSTRACT_TEXT, str_cstr(&out), out.len) : NULL;
}

/* os.path.join("/home", name): a path, with gaps where its parts are not known. */
static const struct abstract_value *joined(const struct call *call)
{
	return follow_each_way(call->follow, call->node, join_parts);
}

static const struct abstract_value *home(const struct call *call)
{
	return abstract_new(&call->follow->all, ABSTRACT_TEXT, "~", 1);
}

static const struct abstract_value *home_path(const struct call *call)
{
	static const char path[] = "pathlib.Path()";

	return abstract_both(
		&call->follow->all,
		abstract_new(&call->follow->all, ABSTRACT_PATH, path, sizeof(path) - 1),
		home(call));
}

/* document.createElement("script") is another thing than the rest. */
static const struct abstract_value *element(const struct call *call)
{
	const struct abstract_value *name = call_text(call, 0);
	owned(free_ptr) char *path =
		xasprintf("document.createElement(%.20s)", name ? name->text : "");

	return abstract_new(&call->follow->all, ABSTRACT_PATH, path, strlen(path));
}

/* module.createRequire(...) gives another require. */
static const struct abstract_value *requirer(const struct call *call)
{
	return abstract_new(&call->follow->all, ABSTRACT_PATH, "require", strlen("require"));
}

/* globals().update(vars(os)): its names are all there from here on. */
static const struct abstract_value *spread_out(const struct call *call)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);
	const struct abstract_value *module =
		first == SYNTAX_NONE ? NULL
				     : abstract_of_kind(call->follow->of[first], ABSTRACT_PATH);

	if (module)
		follow_wildcard(call->follow, module->text);
	return NULL;
}

static const struct {
	const char *path;
	const struct abstract_value *(*come_to)(const struct call *call);
} functions[] = {
	{ "chr", characters },
	{ "String.fromCharCode", characters },
	{ "String.fromCodePoint", characters },
	{ "bytes", numbers },
	{ "bytearray", numbers },
	{ "Buffer.from", buffer },
	{ "JSON.stringify", carried },
	{ "Object.entries", carried },
	{ "encodeURIComponent", carried },
	{ "btoa", carried },
	{ "codecs.decode", by_encoding },
	{ "base64.b64decode", from_base64 },
	{ "base64.urlsafe_b64decode", from_base64 },
	{ "base64.standard_b64decode", from_base64 },
	{ "base64.decodebytes", from_base64 },
	{ "binascii.a2b_base64", from_base64 },
	{ "atob", from_base64 },
	{ "bytes.fromhex", from_hex },
	{ "bytearray.fromhex", from_hex },
	{ "binascii.unhexlify", from_hex },
	{ "binascii.a2b_hex", from_hex },
	{ "base64.b16decode", from_hex },
	{ "decodeURIComponent", from_percent },
	{ "decodeURI", from_percent },
	{ "unescape", from_percent },
	{ "urllib.parse.unquote", from_percent },
	{ "pkgutil.resolve_name", resolved },
	{ "pydoc.locate", resolved },
	{ "django.utils.module_loading.import_string", resolved },
	{ "require.main.require", module },
	{ "module.parent.require", module },
	{ "pydoc.safeimport", module },
	{ "importlib.machinery.BuiltinImporter.load_module", module },
	{ "__import__", module },
	{ "importlib.import_module", module },
	{ "importlib.__import__", module },
	{ "require", module },
	{ "module.require", module },
	{ "process.mainModule.require", module },
	{ "process.getBuiltinModule", module },
	{ "import", module },
	{ "module._load", module },
	{ "module.constructor._load", module },
	{ "module.createRequire", requirer },
	{ "document.createElement", element },
	{ "os.path.join", joined },
	{ "posixpath.join", joined },
	{ "path.join", joined },
	{ "path.resolve", joined },
	{ "os.path.expanduser", same },
	{ "os.path.abspath", same },
	{ "os.path.realpath", same },
	{ "os.homedir", home },
	{ "pathlib.Path.home", home_path },
	{ "Object.getPrototypeOf", same },
	{ "Reflect.getPrototypeOf", same },
	{ "getattr", member },
	{ "Reflect.get", member },
	{ "next", same },
	{ "sorted", same },
	{ "list", same },
	{ "tuple", same },
	{ "dict", same },
	{ "types.MappingProxyType", same },
	{ "Object.freeze", same },
	{ "Object.create", same },
	{ "structuredClone", same },
	{ "iter", same },
	{ "str", same },
	{ "String", same },
	{ "functools.partial", same },
	{ "util.promisify", same },
	{ "Object.assign", any_of },
	{ "Object.setPrototypeOf", any_of },
	{ "Promise.resolve", same },
	{ "globals().update", spread_out },
	{ "locals().update", spread_out },
	{ "vars().update", spread_out },
	{ "Proxy", same },
	{ "WeakRef", same },
	{ "Object.getOwnPropertyDescriptor", member },
};

static const struct abstract_value *known_function(const struct call *call,
						   const struct abstract_value *path)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (functions[i].path[0] == path->text[0] &&
		    strcmp(functions[i].path, path->text) == 0)
			return functions[i].come_to(call);
	}
	return NULL;
}

/* What calling PATH gives, by name: socket.socket() has members of its own. */
static const struct abstract_value *result_of(const struct call *call,
					      const struct abstract_value *path)
{
	const struct abstract_value *known = known_function(call, path);
	owned(str_done) struct str text = STR_INIT;
	struct abstract_value *made;

	if (known)
		return known;
	str_add(&text, path->text);
	/* vars(os) and reversed("..."): about what they were given. */
	if (strcmp(path->text, "vars") == 0 && same(call))
		return same(call);
	if (strcmp(path->text, "reversed") == 0 && call_text(call, 0))
		return call_changed(call, call_text(call, 0), "reverse");
	str_add(&text, "()");
	made = abstract_new(&call->follow->all, ABSTRACT_PATH, str_cstr(&text), text.len);
	if (made)
		made->is_built = path->is_built;
	/* An object that is a path, and has methods. */
	if (strcmp(path->text, "pathlib.Path") == 0)
		return abstract_both(&call->follow->all, made, joined(call));
	return made;
}

/* operator.attrgetter("system")(os): what a call that picks a member is called with. */
static const struct abstract_value *picked(const struct call *call, uint32_t callee)
{
	const struct follow *follow = call->follow;
	const struct abstract_value *path = abstract_of_kind(follow->of[callee], ABSTRACT_PATH),
				    *name, *of;
	uint32_t object = follow_argument(follow, call->node, 0);
	struct abstract_value *made;

	if (follow->syntax->nodes[callee].kind != NODE_CALL || !path ||
	    strcmp(path->text, "operator.attrgetter()") != 0 || object == SYNTAX_NONE)
		return NULL;
	name = follow_text(follow, follow_argument(follow, callee, 0));
	of = abstract_of_kind(follow->of[object], ABSTRACT_PATH);
	made = name && of ? abstract_member(&call->follow->all, of, name->text, name->len) : NULL;
	if (made)
		made->is_built = true;
	return made;
}

/* f.bind(x) is f; what it gives back is not called yet. */
static bool is_bind(const struct follow *follow, uint32_t callee)
{
	uint32_t member_node = follow->syntax->nodes[callee].kind == NODE_ATTRIBUTE
				       ? syntax_child(follow->syntax, callee, FIELD_MEMBER)
				       : SYNTAX_NONE;

	return member_node != SYNTAX_NONE && syntax_is(follow->syntax, member_node, "bind");
}

const struct abstract_value *follow_call(struct follow *follow, uint32_t node)
{
	const struct call call = { follow, node };
	uint32_t callee = syntax_child(follow->syntax, node, FIELD_CALLEE);
	const struct abstract_value *result;

	if (callee == SYNTAX_NONE)
		return NULL;
	if (follow->syntax->nodes[callee].kind == NODE_IMPORT_WORD)
		return module(&call);
	result = abstract_both(&follow->all, call_method(&call, callee),
			       follow_own_function(follow, callee));
	result = abstract_both(&follow->all, result, picked(&call, callee));
	for (const struct abstract_value *one = follow->of[callee]; one; one = one->also) {
		if (one->kind == ABSTRACT_PATH)
			result = abstract_both(&follow->all, result,
					       is_bind(follow, callee) ? one
								       : result_of(&call, one));
	}
	return result;
}
