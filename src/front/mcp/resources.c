/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: what tools answer with, by address, for clients that show or keep it. */
#include "front/mcp/resources.h"

#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/percent.h"
#include "front/mcp/call_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME "aisbx://"
#define TEXT_MAX ((size_t)4 << 20)
#define NOT_FOUND (-32002)

/* What ends an address that has a path behind its part; the tool's argument of that name. */
#define REST "/{+path}"

/* ADDRESS is fixed, or has one {part} that becomes the tool's argument, and perhaps REST. */
struct resource {
	const char *address;
	const char *name, *title, *description, *mime;
	const char *tool;
	const char *argument; /* NULL for fixed ones */
	enum {
		FORM_DATA,
		FORM_WORDS,   /* the verb's words for people, not its data */
		FORM_CONTENT, /* a file's own bytes, where the data has them */
	} form;
};

static const struct resource rows[] = {
	{ SCHEME "policy", "policy", "Effective policy",
	  "What a run of this server would be launched with: limits, network, mounts, masks",
	  "application/json", "policy", NULL, FORM_DATA },
	{ SCHEME "sandboxes", "sandboxes", "Sandboxes", "The sandboxes of this server",
	  "application/json", "sandbox_list", NULL, FORM_DATA },
	{ SCHEME "artifacts", "artifacts", "Artifacts", "Build outputs kept by artifact_save",
	  "application/json", "artifacts", NULL, FORM_DATA },
	{ SCHEME "artifacts/{artifact_id}", "artifact", "One artifact",
	  "The file itself; of a directory, a list of what is in it", "application/octet-stream",
	  "artifact", "artifact_id", FORM_CONTENT },
	{ SCHEME "artifacts/{artifact_id}" REST, "artifact file", "One file of an artifact",
	  "A file of a directory that was saved", "application/octet-stream", "artifact",
	  "artifact_id", FORM_CONTENT },
	{ SCHEME "sandboxes/{sandbox}", "sandbox", "One sandbox", "Settings, processes, changes",
	  "application/json", "sandbox_inspect", "sandbox", FORM_DATA },
	{ SCHEME "sandboxes/{sandbox}/diff", "diff", "What a sandbox changed", "A unified diff",
	  "text/x-diff", "sandbox_diff", "sandbox", FORM_WORDS },
	{ SCHEME "runs/{run_id}", "run", "One run", "Its result, without its output",
	  "application/json", "run_show", "run_id", FORM_DATA },
	{ SCHEME "runs/{run_id}/log", "log", "Output of a run",
	  "Both streams, as they were written", "text/plain", "logs", "run_id", FORM_WORDS },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static bool is_template(const struct resource *row)
{
	return row->argument != NULL;
}

static void describe(const struct resource *row, struct value *list)
{
	struct value *item = value_append(list, value_new_map());

	value_add(item, is_template(row) ? "uriTemplate" : "uri", value_new_text(row->address));
	value_add(item, "name", value_new_text(row->name));
	value_add(item, "title", value_new_text(row->title));
	value_add(item, "description", value_new_text(row->description));
	value_add(item, "mimeType", value_new_text(row->mime));
}

static void list(const struct request_view *request, const char *key, bool templates)
{
	struct value *result = value_new_map(), *items;
	size_t from, to;

	if (!request_page(request, ROWS, &from, &to, result))
		return;
	items = value_add(result, key, value_new_list());
	for (size_t i = from; i < to; i++) {
		if (is_template(&rows[i]) == templates)
			describe(&rows[i], items);
	}
	request_answer(request, result, true);
}

void resources_list(const struct request_view *request)
{
	list(request, "resources", false);
}

void resources_templates(const struct request_view *request)
{
	list(request, "resourceTemplates", true);
}

/* The bytes that %XX stand for; false where they are none, or a NUL. */
static bool decode(const char *text, struct str *out)
{
	for (; *text; text++) {
		int escaped = percent_byte(text, strlen(text));

		if (*text == '%' && escaped <= 0)
			return false;
		str_add_char(out, *text == '%' ? (char)escaped : *text);
		text += *text == '%' ? 2 : 0;
	}
	return true;
}

/* Whether URI is one of ROW's; its parts, where it has them, become ARGUMENTS. What a part may be, the tool checks. */
static bool match(const struct resource *row, const char *uri, struct value *arguments)
{
	size_t before = strcspn(row->address, "{");
	owned(str_done) struct str rest = STR_INIT;
	const char *behind, *end;

	if (!is_template(row))
		return strcmp(row->address, uri) == 0;
	behind = strchr(row->address, '}') + 1;
	if (strncmp(row->address, uri, before) != 0)
		return false;
	end = uri + before + strcspn(uri + before, "/");
	if (end == uri + before)
		return false;
	if (strcmp(behind, REST) == 0) {
		if (end[0] != '/' || !end[1] || !decode(end + 1, &rest))
			return false;
		value_set(arguments, "path", value_new_text(str_cstr(&rest)));
	} else if (strcmp(end, behind) != 0) {
		return false;
	}
	value_set(arguments, row->argument,
		  value_new_bytes(uri + before, (size_t)(end - (uri + before))));
	return true;
}

static void not_found(const struct request_view *request, const char *uri, const char *why)
{
	owned(value_release) struct value *data = value_new_map();

	value_add(data, "uri", value_new_text(uri));
	request_fail(request, request->version == MCP_2026_07_28 ? RPC_INVALID_PARAMS : NOT_FOUND,
		     why, data);
}

static void start(const struct request_view *request, const struct resource *row, const char *uri,
		  const struct value *arguments)
{
	struct server *server = request->session->server;
	struct tool_call work;
	struct call *call;
	struct error err;

	tool_call_init(&work, tool_find_any(row->tool), &server->ceiling, server->environ);
	if (tool_call_read(&work, arguments, &err) < 0) {
		not_found(request, uri, err.text);
		tool_call_done(&work);
		return;
	}
	call = call_make(request, &work);
	call->resource = xstrdup(uri);
	call_queue(server, call);
}

void resources_read(const struct request_view *request)
{
	const char *uri = request->params ? value_get_text(request->params, "uri") : NULL;
	owned(value_release) struct value *arguments = value_new_map();

	if (!uri) {
		request_fail(request, RPC_INVALID_PARAMS, "resources/read needs uri", NULL);
		return;
	}
	if (request->session->server->waiting >= MCP_WAITING_MAX) {
		request_fail(request, RPC_INTERNAL_ERROR, "too much waits; ask again later", NULL);
		return;
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (match(&rows[i], uri, arguments)) {
			start(request, &rows[i], uri, arguments);
			return;
		}
	}
	not_found(request, uri, "no such resource");
}

static const struct resource *row_of(const char *uri)
{
	for (size_t i = 0; i < ROWS; i++) {
		owned(value_release) struct value *arguments = value_new_map();

		if (match(&rows[i], uri, arguments))
			return &rows[i];
	}
	return &rows[0];
}

static int perform(struct call *call, const struct resource *row, struct str *text,
		   struct error *err)
{
	struct op_call *op = &call->work.call;

	if (row->form == FORM_WORDS) {
		if (tool_call_words(&call->work, err) < 0)
			return -1;
		str_add_bytes(text, op->text.data,
			      op->text.len < TEXT_MAX ? op->text.len : TEXT_MAX);
		if (op->text.len > TEXT_MAX)
			str_addf(text, "\n[%zu bytes more]\n", op->text.len - TEXT_MAX);
		return 0;
	}
	if (tool_call_perform(&call->work, err) < 0)
		return -1;
	json_write(text, op->answer, 0);
	return 0;
}

/* What the call came to, as the item of a resource: a file's bytes as text or blob, else the text. */
static void fill(struct value *item, const struct resource *row, const struct value *answer,
		 const struct str *text)
{
	const char *encoding =
		row->form == FORM_CONTENT ? value_get_text(answer, "encoding") : NULL;
	const struct value *content = encoding ? value_get(answer, "content") : NULL;
	bool is_blob = encoding && strcmp(encoding, "base64") == 0;

	value_add(item, "mimeType",
		  value_new_text(is_blob				? row->mime
				 : row->form == FORM_CONTENT && content ? "text/plain"
				 : row->form == FORM_CONTENT		? "application/json"
									: row->mime));
	if (content && content->kind == VALUE_TEXT)
		value_add(item, is_blob ? "blob" : "text",
			  value_new_bytes(content->text.bytes, content->text.len));
	else
		value_add(item, "text", value_new_bytes(str_cstr(text), text->len));
}

bool resource_write(struct call *call, struct str *out)
{
	const struct resource *row = row_of(call->resource);
	owned(value_release) struct value *result = value_new_map();
	owned(str_done) struct str text = STR_INIT;
	struct value *item;
	struct error err;

	if (perform(call, row, &text, &err) < 0) {
		value_add(result, "message", value_new_text(err.text));
		json_write(out, result, 0);
		return false;
	}
	item = value_append(value_add(result, "contents", value_new_list()), value_new_map());
	value_add(item, "uri", value_new_text(call->resource));
	fill(item, row, call->work.call.answer, &text);
	if (call->version == MCP_2026_07_28) {
		value_add(result, "resultType", value_new_text("complete"));
		value_add(result, "ttlMs", value_new_int(0));
		value_add(result, "cacheScope", value_new_text("private"));
	}
	json_write(out, result, 0);
	return true;
}

void resource_lost(struct call *call, const struct value *said)
{
	const struct request_view request = { .session = call->session,
					      .channel = call->channel,
					      .id = call->id,
					      .version = call->version };
	const char *why = said ? value_get_text(said, "message") : NULL;

	call->is_answered = true;
	if (call->channel)
		not_found(&request, call->resource, why ? why : "it cannot be read");
}
