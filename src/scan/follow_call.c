/* What a call comes to where that can be told: texts put together and decoded, modules and members named by texts. */
#include "base/own.h"
#include "scan/fold.h"
#include "scan/follow.h"

#include <string.h>

struct call {
	struct follow *follow;
	uint32_t node;
};

static const struct meaning *made_text(const struct call *call, const struct str *text)
{
	struct meaning *made =
		meaning_new(&call->follow->all, MEANS_TEXT, str_cstr(text), text->len);

	if (made)
		made->is_built = true;
	return made;
}

static const struct meaning *text_argument(const struct call *call, unsigned position)
{
	return follow_text(call->follow, follow_argument(call->follow, call->node, position));
}

/* Adds the characters that the numbers below LIST stand for; false when one is no number. */
static bool add_numbers(const struct call *call, uint32_t list, struct str *out)
{
	const struct syntax *syntax = call->follow->syntax;

	for (uint32_t at = syntax_first(syntax, list); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		const struct meaning *number = meaning_of_kind(call->follow->of[at], MEANS_NUMBER);

		if (!number || number->number < 0)
			return false;
		fold_character(out, (unsigned long)number->number);
	}
	return true;
}

/* chr(105), String.fromCharCode(105, 100). */
static const struct meaning *characters(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	uint32_t arguments = syntax_child(call->follow->syntax, call->node, FIELD_ARGUMENTS);

	return add_numbers(call, arguments, &out) && out.len > 0 ? made_text(call, &out) : NULL;
}

/* bytes([105, 100]), Buffer.from([105, 100]). */
static const struct meaning *numbers(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	uint32_t list = follow_list(call->follow, follow_argument(call->follow, call->node, 0));

	if (list == SYNTAX_NONE)
		return text_argument(call, 0);
	return add_numbers(call, list, &out) ? made_text(call, &out) : NULL;
}

static const struct meaning *from_base64(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct meaning *text = text_argument(call, 0);

	return text && fold_base64(&out, text->text, text->len) ? made_text(call, &out) : NULL;
}

static const struct meaning *from_hex(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct meaning *text = text_argument(call, 0);

	return text && fold_hex(&out, text->text, text->len) ? made_text(call, &out) : NULL;
}

static const struct meaning *from_percent(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct meaning *text = text_argument(call, 0);

	if (text)
		fold_percent(&out, text->text, text->len);
	return text ? made_text(call, &out) : NULL;
}

/* codecs.decode(text, "rot13"), Buffer.from(text, "hex"). */
static const struct meaning *by_encoding(const struct call *call)
{
	owned(str_done) struct str out = STR_INIT;
	const struct meaning *text = text_argument(call, 0), *how = text_argument(call, 1);

	if (!text || !how)
		return numbers(call);
	if (str_starts(how->text, "rot"))
		fold_rot13(&out, text->text, text->len);
	else if (str_starts(how->text, "base64") && !fold_base64(&out, text->text, text->len))
		return NULL;
	else if (str_starts(how->text, "hex") && !fold_hex(&out, text->text, text->len))
		return NULL;
	return out.len > 0 ? made_text(call, &out) : text;
}

/* The module a text names: __import__("os"), require("fs"). */
static const struct meaning *module(const struct call *call)
{
	const struct meaning *text = text_argument(call, 0);
	const char *name = text ? text->text : NULL;
	struct meaning *made;

	if (!name || strchr(name, FOLD_GAP))
		return NULL;
	name += str_starts(name, "node:") ? strlen("node:") : 0;
	made = meaning_new(&call->follow->all, MEANS_PATH, name, strlen(name));
	/* __import__("a.b") is a; require of a plain text is how it is always done. */
	if (made)
		made->is_built = text->is_built;
	return made;
}

/* getattr(os, "system"), Reflect.get(globalThis, "eval"). */
static const struct meaning *member(const struct call *call)
{
	uint32_t object = follow_argument(call->follow, call->node, 0);
	const struct meaning *name = text_argument(call, 1), *result = NULL;

	for (const struct meaning *one = object == SYNTAX_NONE ? NULL : call->follow->of[object];
	     one && name; one = one->also) {
		struct meaning *made =
			one->kind == MEANS_PATH && !strchr(name->text, FOLD_GAP)
				? meaning_member(&call->follow->all, one, name->text, name->len)
				: NULL;

		if (made)
			made->is_built = true;
		result = meaning_both(&call->follow->all, result, made);
	}
	return result;
}

/* What is handed over as it is: vars(os), str(text), functools.partial(os.system, ...). */
static const struct meaning *same(const struct call *call)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);

	return first == SYNTAX_NONE ? NULL : call->follow->of[first];
}

static const struct {
	const char *path;
	const struct meaning *(*come_to)(const struct call *call);
} functions[] = {
	{ "chr", characters },
	{ "String.fromCharCode", characters },
	{ "String.fromCodePoint", characters },
	{ "bytes", numbers },
	{ "bytearray", numbers },
	{ "Buffer.from", by_encoding },
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
	{ "getattr", member },
	{ "Reflect.get", member },
	{ "str", same },
	{ "String", same },
	{ "functools.partial", same },
	{ "util.promisify", same },
	{ "Object.assign", same },
};

/* Methods of a text, and of a list of texts. */
static const struct meaning *join_items(const struct call *call, const struct meaning *between,
					uint32_t list)
{
	const struct syntax *syntax = call->follow->syntax;
	owned(str_done) struct str out = STR_INIT;
	bool is_first = true;

	for (uint32_t at = syntax_first(syntax, list); at != SYNTAX_NONE;
	     at = syntax_next(syntax, at)) {
		const struct meaning *part = follow_text(call->follow, at);

		if (!is_first && between)
			str_add_bytes(&out, between->text, between->len);
		if (part)
			str_add_bytes(&out, part->text, part->len);
		else
			str_add_char(&out, FOLD_GAP);
		is_first = false;
	}
	return made_text(call, &out);
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

static const struct meaning *replaced(const struct call *call, const struct meaning *text)
{
	const struct meaning *old = text_argument(call, 0), *new = text_argument(call, 1);
	owned(str_done) struct str out = STR_INIT;
	const char *at = text->text, *found;

	owned(free_ptr) char *letters = old ? NULL : regex_letters(call);

	if (!new || (!old && !letters) || (old && old->len == 0))
		return NULL;
	for (const char *c = text->text; letters && *c; c++) {
		if (strchr(letters, *c))
			str_add_bytes(&out, new->text, new->len);
		else
			str_add_char(&out, *c);
	}
	if (letters)
		return made_text(call, &out);
	while ((found = strstr(at, old->text))) {
		str_add_bytes(&out, at, (size_t)(found - at));
		str_add_bytes(&out, new->text, new->len);
		at = found + old->len;
	}
	str_add(&out, at);
	return made_text(call, &out);
}

static const struct meaning *changed(const struct call *call, const struct meaning *text,
				     const char *method)
{
	owned(str_done) struct str out = STR_INIT;

	if (strcmp(method, "reverse") == 0 || strcmp(method, "toReversed") == 0) {
		fold_reverse(&out, text->text, text->len);
		return made_text(call, &out);
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
	return made_text(call, &out);
}

/* Those that give the text as it is, or as a list of its letters. */
static bool keeps_text(const char *method)
{
	static const char words[] = " decode encode strip trim toString valueOf split normalize "
				    "tobytes lstrip rstrip format ";
	owned(free_ptr) char *wanted = xasprintf(" %s ", method);

	return strstr(words, wanted) != NULL;
}

static const struct meaning *text_method(const struct call *call, const struct meaning *text,
					 const char *method)
{
	uint32_t first = follow_argument(call->follow, call->node, 0);
	uint32_t list = follow_list(call->follow, first);

	if (strcmp(method, "join") == 0 && list != SYNTAX_NONE)
		return join_items(call, text, list);
	/* "".join(reversed("...")) and [..."text"].join(""). */
	if (strcmp(method, "join") == 0)
		return call->follow->language == SCAN_PYTHON ? follow_text(call->follow, first)
							     : text;
	if (strncmp(method, "replace", strlen("replace")) == 0)
		return replaced(call, text);
	if (strcmp(method, "concat") == 0)
		return follow_join(call->follow, text, text_argument(call, 0));
	if (keeps_text(method))
		return text;
	if (strstr("reverse toReversed lower upper toLowerCase toUpperCase swapcase", method))
		return changed(call, text, method);
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

static const struct meaning *method_of_text(const struct call *call, uint32_t callee)
{
	char method[32];
	uint32_t object = object_of(call, callee, method);
	uint32_t list = object == SYNTAX_NONE ? SYNTAX_NONE : follow_list(call->follow, object);
	const struct meaning *text =
		object == SYNTAX_NONE ? NULL : follow_text(call->follow, object);

	/* ["e", "val"].join("") */
	if (list != SYNTAX_NONE && strcmp(method, "join") == 0)
		return join_items(call, text_argument(call, 0), list);
	return text ? text_method(call, text, method) : NULL;
}

static const struct meaning *known_function(const struct call *call, const struct meaning *path)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].path, path->text) == 0)
			return functions[i].come_to(call);
	}
	return NULL;
}

/* What calling PATH gives, by name: socket.socket() has members of its own. */
static const struct meaning *result_of(const struct call *call, const struct meaning *path)
{
	const struct meaning *known = known_function(call, path);
	owned(str_done) struct str text = STR_INIT;
	struct meaning *made;

	if (known)
		return known;
	str_add(&text, path->text);
	/* vars(os) and reversed("..."): about what they were given. */
	if (strcmp(path->text, "vars") == 0 && same(call))
		return same(call);
	if (strcmp(path->text, "reversed") == 0 && text_argument(call, 0))
		return changed(call, text_argument(call, 0), "reverse");
	str_add(&text, "()");
	made = meaning_new(&call->follow->all, MEANS_PATH, str_cstr(&text), text.len);
	if (made)
		made->is_built = path->is_built;
	return made;
}

/* What one of the program's own functions gives back. */
static const struct meaning *own_function(const struct call *call, uint32_t callee)
{
	const struct syntax_node *it = &call->follow->syntax->nodes[callee];
	size_t len = it->end - it->start;
	char key[MEANING_PATH_MAX];
	const struct meaning *meaning;

	if (it->kind != NODE_IDENTIFIER || len + 3 > sizeof(key))
		return NULL;
	memcpy(key, call->follow->syntax->text + it->start, len);
	memcpy(key + len, "()", 2);
	(void)meanings_look_up(&call->follow->all, key, len + 2, &meaning);
	return meaning;
}

/* f.bind(x) is f; what it gives back is not called yet. */
static bool is_bind(const struct follow *follow, uint32_t callee)
{
	uint32_t member_node = follow->syntax->nodes[callee].kind == NODE_ATTRIBUTE
				       ? syntax_child(follow->syntax, callee, FIELD_MEMBER)
				       : SYNTAX_NONE;

	return member_node != SYNTAX_NONE && syntax_is(follow->syntax, member_node, "bind");
}

const struct meaning *follow_call(struct follow *follow, uint32_t node)
{
	const struct call call = { follow, node };
	uint32_t callee = syntax_child(follow->syntax, node, FIELD_CALLEE);
	const struct meaning *result;

	if (callee == SYNTAX_NONE)
		return NULL;
	if (follow->syntax->nodes[callee].kind == NODE_IMPORT_WORD)
		return module(&call);
	result = meaning_both(&follow->all, method_of_text(&call, callee),
			      own_function(&call, callee));
	for (const struct meaning *one = follow->of[callee]; one; one = one->also) {
		if (one->kind == MEANS_PATH)
			result =
				meaning_both(&follow->all, result,
					     is_bind(follow, callee) ? one : result_of(&call, one));
	}
	return result;
}
