/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a tool as the protocol's result: an object, and a short text for models. */
#include "base/json_write.h"
#include "base/own.h"
#include "base/utf8.h"
#include "front/mcp/answer.h"

#include <stdlib.h>
#include <string.h>

/* A stream in the object, a stream in the text, any text, all of the object. */
#define STREAM_MAX ((size_t)32 << 10)
#define STREAM_TOLD ((size_t)8 << 10)
#define TEXT_MAX ((size_t)24 << 10)
#define OBJECT_MAX ((size_t)2 << 20)

/* Before AT, where a character begins. */
static size_t character_start(const char *text, size_t at)
{
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* The head and the tail of a text that is too long, and how much lies between. */
static void add_cut(struct str *out, const char *text, size_t len, size_t max)
{
	size_t head, tail;

	if (len <= max) {
		str_add_bytes(out, text, len);
		return;
	}
	head = character_start(text, max / 3 * 2);
	tail = character_start(text, len - max / 3);
	str_add_bytes(out, text, head);
	str_addf(out, "\n[... %zu bytes left out ...]\n", tail - head);
	str_add_bytes(out, text + tail, len - tail);
}

static void add_text_block(struct value *content, const struct str *text)
{
	struct value *block = value_append(content, value_new_map());

	value_add(block, "type", value_new_text("text"));
	value_add(block, "text", value_new_bytes(str_cstr(text), text->len));
}

/* Where the rest is. Clients before 2025-06-18 know no links; the text names it for them. */
static void add_link(struct value *content, struct str *text, enum mcp_version version,
		     const char *uri, const char *name)
{
	struct value *block;

	str_addf(text, "\n[all of it: resource %s]\n", uri);
	if (version < MCP_2025_06_18)
		return;
	block = value_append(content, value_new_map());
	value_add(block, "type", value_new_text("resource_link"));
	value_add(block, "uri", value_new_text(uri));
	value_add(block, "name", value_new_text(name));
	value_add(block, "mimeType", value_new_text("text/plain"));
}

/* One stream of a run: cut in the object, told in the text. True when something is missing from either. */
static bool tell_stream(struct value *object, const char *key, struct str *text)
{
	owned(free_ptr) char *encoding_key = xasprintf("%s_encoding", key);
	const char *encoding = value_get_text(object, encoding_key);
	const struct value *stream = value_get(object, key);
	owned(str_done) struct str cut = STR_INIT;

	if (!stream || stream->kind != VALUE_TEXT || stream->text.len == 0)
		return false;
	bool is_text = !encoding || strcmp(encoding, "utf-8") == 0;
	size_t len = stream->text.len;

	str_addf(text, "--- %s%s\n", key, is_text ? "" : " (base64)");
	add_cut(text, stream->text.bytes, len, STREAM_TOLD);
	if (text->data[text->len - 1] != '\n')
		str_add_char(text, '\n');
	if (len <= STREAM_MAX)
		return len > STREAM_TOLD;
	/* Half of a base64 group is nothing. */
	if (is_text)
		add_cut(&cut, stream->text.bytes, len, STREAM_MAX);
	else
		str_add_bytes(&cut, stream->text.bytes, STREAM_MAX / 4 * 4);
	value_set(object, key, value_new_bytes(str_cstr(&cut), cut.len));
	return true;
}

static void tell_denials(const struct value *object, struct str *text)
{
	const struct value *denials = value_get(object, "denials");

	for (size_t i = 0; denials && denials->kind == VALUE_LIST && i < denials->many.count; i++) {
		const struct value *one = denials->many.items[i];
		const char *layer = value_get_text(one, "layer"),
			   *hint = value_get_text(one, "hint");
		const char *what = value_get_text(one, "what"), *rule = value_get_text(one, "rule");

		str_addf(text, "denied by %s: %s (%s)%s%s\n", layer ? layer : "?",
			 what ? what : "?", rule ? rule : "no rule", hint ? "; " : "",
			 hint ? hint : "");
	}
}

/* A run: how it ended, what it wrote, what it was refused. */
static void tell_run(struct value *object, struct value *content, struct str *text,
		     enum mcp_version version)
{
	const char *status = value_get_text(object, "status");
	const char *run_id = value_get_text(object, "run_id");
	const struct value *duration = value_get(object, "duration_ms");
	bool is_cut = value_is_true(object, "truncated");

	str_addf(text, "%s, exit code %lld", status ? status : "?",
		 (long long)value_int_of(object, "exit_code"));
	if (duration && duration->kind == VALUE_REAL)
		str_addf(text, ", %.0f ms", duration->real);
	str_add_char(text, '\n');
	is_cut |= tell_stream(object, "stdout", text);
	is_cut |= tell_stream(object, "stderr", text);
	tell_denials(object, text);
	value_set(object, "truncated", value_new_bool(is_cut));
	if (is_cut && run_id) {
		owned(free_ptr) char *uri = xasprintf("aisbx://runs/%s/log", run_id);

		add_link(content, text, version, uri, "output of the run");
	}
}

/* So many of the list's items that the whole stays within bounds. */
static void fit(struct value *object, const char *list_key)
{
	struct value *list = list_key ? value_get(object, list_key) : NULL;
	owned(str_done) struct str json = STR_INIT;
	size_t used = 0, kept = 0;

	if (!list || list->kind != VALUE_LIST)
		return;
	for (; kept < list->many.count && used <= OBJECT_MAX; kept++) {
		str_clear(&json);
		json_write(&json, list->many.items[kept], 0);
		used += json.len + 1;
	}
	if (used <= OBJECT_MAX)
		return;
	value_set(object, "truncated", value_new_bool(true));
	for (size_t i = kept - 1; i < list->many.count; i++)
		value_free(list->many.items[i]);
	list->many.count = kept - 1;
}

/* Words the verb has for people, else the object itself. */
static void tell_other(const struct tool_call *work, const struct value *object,
		       struct value *content, struct str *text, enum mcp_version version)
{
	const struct op_call *call = &work->call;
	owned(str_done) struct str json = STR_INIT;
	const struct str *from = &call->text;

	if (from->len == 0 || !(work->tool->flags & (TOOL_TOLD | TOOL_SAID))) {
		json_write(&json, object, 0);
		from = &json;
	}
	add_cut(text, str_cstr(from), from->len, TEXT_MAX);
	if (call->notes.len > 0)
		str_addf(text, "\n%s", str_cstr(&call->notes));
	if (from->len > TEXT_MAX && strcmp(work->tool->verb, "diff") == 0) {
		owned(free_ptr) char *uri =
			xasprintf("aisbx://sandboxes/%s/diff", call->words.items[0]);

		add_link(content, text, version, uri, "the whole diff");
	}
}

static struct value *error_object(const struct error *err)
{
	struct value *error = value_new_map();
	char hint[ERROR_TEXT_SIZE];

	value_add(error, "code", value_new_text(error_code_name(err->code)));
	value_add(error, "message", value_new_text(err->text));
	value_add(error, "hint", value_new_text(error_hint(err->text, hint)));
	return error;
}

/* The answer of a refusal: what there is of an object, and why. */
static void tell_refusal(struct value *object, const struct error *err, struct str *text)
{
	value_set(object, "ok", value_new_bool(false));
	value_set(object, "error", error_object(err));
	str_addf(text, "%s: %s\n", error_code_name(err->code), err->text);
}

static void write_result(struct value *content, struct value *object, bool is_error,
			 enum mcp_version version, struct str *out)
{
	owned(value_release) struct value *result = value_new_map();

	value_add(result, "content", content);
	value_add(result, "structuredContent", object);
	value_add(result, "isError", value_new_bool(is_error));
	if (version == MCP_2026_07_28)
		value_add(result, "resultType", value_new_text("complete"));
	json_write(out, result, 0);
}

void answer_refusal(const struct error *err, enum mcp_version version, struct str *out)
{
	owned(str_done) struct str text = STR_INIT;
	struct value *content = value_new_list(), *object = value_new_map();

	tell_refusal(object, err, &text);
	add_text_block(content, &text);
	write_result(content, object, true, version, out);
}

void answer_write(struct tool_call *work, int status, const struct error *err,
		  enum mcp_version version, struct str *out)
{
	owned(str_done) struct str text = STR_INIT;
	struct value *links = value_new_list(), *content = value_new_list(), *object;

	object = ptr_take(&work->call.answer);
	if (!object)
		object = value_new_map();
	if (status < 0) {
		tell_refusal(object, err, &text);
	} else if (work->tool->flags & TOOL_RUNS) {
		tell_run(object, links, &text, version);
	} else {
		tell_other(work, object, links, &text, version);
		fit(object, work->tool->list);
	}
	add_text_block(content, &text);
	for (size_t i = 0; i < links->many.count; i++)
		value_append(content, links->many.items[i]);
	links->many.count = 0;
	value_free(links);
	write_result(content, object,
		     status < 0 || (work->tool->flags & TOOL_FAILS && work->call.exit_status != 0),
		     version, out);
}
