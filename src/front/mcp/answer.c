/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a tool as the protocol's result: an object, and a short text for models. */
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/core/utf8.h"
#include "front/mcp/answer.h"

#include <stdlib.h>
#include <string.h>

/*
 * A stream, in the object and in the text; any other text; all of the object. Clients hand a model the one or the other,
 * never both: they have the same content, and both name the resource that holds the rest.
 */
#define STREAM_MAX ((size_t)8 << 10)
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
	head = character_start(text, max / 2);
	tail = character_start(text, len - max / 2);
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

/* One stream of a run, cut. True when something is missing from it. */
static bool report_stream(struct value *object, const char *key, struct str *text)
{
	owned(free_ptr) char *encoding_key = xasprintf("%s_encoding", key);
	const char *encoding = value_get_text(object, encoding_key);
	const struct value *stream = value_get(object, key);
	struct str cut = STR_INIT;

	bool is_text = !encoding || strcmp(encoding, "utf-8") == 0;

	if (is_text)
		value_set(object, encoding_key, value_new_null());
	if (!stream || stream->kind != VALUE_TEXT || stream->text.len == 0)
		return false;
	bool is_cut = stream->text.len > STREAM_MAX;

	/* Half of a base64 group is nothing. */
	if (is_text)
		add_cut(&cut, stream->text.bytes, stream->text.len, STREAM_MAX);
	else
		str_add_bytes(&cut, stream->text.bytes,
			      is_cut ? STREAM_MAX / 4 * 4 : stream->text.len);
	str_addf(text, "--- %s%s\n", key, is_text ? "" : " (base64)");
	str_add_bytes(text, str_cstr(&cut), cut.len);
	if (text->data[text->len - 1] != '\n')
		str_add_char(text, '\n');
	if (is_cut)
		value_set(object, key, value_new_bytes(str_cstr(&cut), cut.len));
	str_done(&cut);
	return is_cut;
}

/* Which layer refused what by which rule. The hint beside it is a flag of the command line, which no client has. */
static void report_denials(struct value *object, struct str *text)
{
	const struct value *denials = value_get(object, "denials");
	struct value *list = value_new_list();

	for (size_t i = 0; denials && denials->kind == VALUE_LIST && i < denials->many.count; i++) {
		const struct value *one = denials->many.items[i];
		const char *layer = value_get_text(one, "layer");
		const char *what = value_get_text(one, "what"), *rule = value_get_text(one, "rule");
		struct value *row = value_append(list, value_new_map());

		str_addf(text, "denied by %s: %s (%s)\n", layer ? layer : "?", what ? what : "?",
			 rule ? rule : "no rule");
		value_add(row, "layer", value_new_text(layer));
		value_add(row, "what", value_new_text(what));
		value_add(row, "rule", value_new_text(rule));
		value_add(row, "count", value_new_int(value_int_of(one, "count")));
	}
	value_set(object, "denials", list);
}

static void report_notes(const struct value *object, struct str *text)
{
	const char *message = value_get_text(object, "message");
	const struct value *notes = value_get(object, "notes");

	if (message)
		str_addf(text, "%s\n", message);
	for (size_t i = 0; notes && notes->kind == VALUE_LIST && i < notes->many.count; i++)
		str_addf(text, "note: %s\n", notes->many.items[i]->text.bytes);
}

static void keep_field(struct value *object, const char *name, struct value *kept)
{
	struct value *item = value_take(object, name);
	bool is_empty = item && (item->kind == VALUE_NULL ||
				 (item->kind == VALUE_LIST && item->many.count == 0));

	if (item && !is_empty)
		value_add(kept, name, item);
	else
		value_free(item);
}

/* Of a run: the fields that the tool's row has, as far as they say anything; run_show has the others. */
static struct value *keep_fields(const struct tool *tool, struct value *object)
{
	struct value *kept = value_new_map();

	for (const struct tool_field *field = tool->fields; field->name; field++)
		keep_field(object, field->name, kept);
	keep_field(object, "ok", kept);
	keep_field(object, "error", kept);
	value_free(object);
	return kept;
}

/* A run: how it ended, what it wrote, what it was refused. */
static void report_run(struct value *object, struct value *content, struct str *text,
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
	is_cut |= report_stream(object, "stdout", text);
	is_cut |= report_stream(object, "stderr", text);
	report_denials(object, text);
	report_notes(object, text);
	value_set(object, "truncated", value_new_bool(is_cut));
	if (is_cut && run_id) {
		owned(free_ptr) char *uri = xasprintf("aisbx://runs/%s/log", run_id);

		value_set(object, "log", value_new_text(uri));
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
static void report_other(const struct tool_call *work, struct value *object, struct value *content,
			 struct str *text, enum mcp_version version)
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
	if (strcmp(work->tool->verb, "diff") != 0)
		return;
	value_set(object, "patch", value_new_bytes(str_cstr(text), text->len));
	if (from->len > TEXT_MAX) {
		owned(free_ptr) char *uri =
			xasprintf("aisbx://sandboxes/%s/diff", call->words.items[0]);

		value_set(object, "truncated", value_new_bool(true));
		value_set(object, "diff", value_new_text(uri));
		add_link(content, text, version, uri, "the whole diff");
	}
}

/* The way out, as far as a client can take it: one by the command line is for a person at a terminal. */
static const char *hint_for_clients(const struct error *err)
{
	const char *hint = error_hint(err);

	return hint && !strstr(hint, "aisbx ") && !strstr(hint, "--") ? hint : NULL;
}

static struct value *error_object(const struct error *err)
{
	struct value *error = value_new_map();

	value_add(error, "code", value_new_text(error_code_name(err->code)));
	value_add(error, "message", value_new_bytes(err->text, (size_t)error_said(err)));
	value_add(error, "hint", value_new_text(hint_for_clients(err)));
	return error;
}

/* The answer of a refusal: what there is of an object, and why. */
static void report_refusal(struct value *object, const struct error *err, struct str *text)
{
	const char *hint = hint_for_clients(err);

	value_set(object, "ok", value_new_bool(false));
	value_set(object, "error", error_object(err));
	/* Of a run that was refused the object has the same sentence, with its hint. */
	value_free(value_take(object, "message"));
	str_addf(text, "%s: %.*s%s%s\n", error_code_name(err->code), error_said(err), err->text,
		 hint ? "; " : "", hint ? hint : "");
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

void answer_object(struct value *object, enum mcp_version version, struct str *out)
{
	owned(str_done) struct str text = STR_INIT;
	struct value *content = value_new_list();

	json_write(&text, object, 0);
	add_text_block(content, &text);
	write_result(content, object, false, version, out);
}

void answer_refusal(const struct error *err, enum mcp_version version, struct str *out)
{
	owned(str_done) struct str text = STR_INIT;
	struct value *content = value_new_list(), *object = value_new_map();

	report_refusal(object, err, &text);
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
		report_refusal(object, err, &text);
	} else if (work->tool->flags & TOOL_RUNS) {
		report_run(object, links, &text, version);
	} else {
		report_other(work, object, links, &text, version);
		fit(object, work->tool->list);
	}
	if (work->tool->flags & TOOL_RUNS)
		object = keep_fields(work->tool, object);
	add_text_block(content, &text);
	for (size_t i = 0; i < links->many.count; i++)
		value_append(content, links->many.items[i]);
	links->many.count = 0;
	value_free(links);
	write_result(content, object,
		     status < 0 || (work->tool->flags & TOOL_FAILS && work->call.exit_status != 0),
		     version, out);
}
