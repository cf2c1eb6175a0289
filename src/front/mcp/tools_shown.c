/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tools a client is shown, and the tool that names the others.
 *
 * A model reads every tool that is shown with each of its turns: ten are, unless the server was started with --tools all.
 * All others can be called by name all the same; those that were asked about are shown to that session from then on.
 */
#include "front/mcp/methods.h"

#include "base/core/own.h"
#include "front/mcp/answer.h"

#include <string.h>

/* A session remembers in one word which tools it has asked about. */
#define TOOLS_MAX 64

static const struct tool_arg more_args[] = {
	{ .name = "names",
	  .type = TOOL_TEXTS,
	  .help = "tools to describe with their arguments; default: all, one line each" },
	{ .name = NULL },
};

static const struct tool_field more_fields[] = { { "tools", "array", NULL }, { .name = NULL } };

static const struct tool more_tool = {
	.name = "tools_more",
	.title = "More tools",
	.description = "Lists further tools, which can be called by name: commands in the "
		       "background, writing and listing files, forks, races, checks, artifacts, "
		       "commits, refresh, history, logs.",
	.args = more_args,
	.fields = more_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
};

/* As far as they differ from what the protocol takes for granted; of what only reads, the two in between mean nothing. */
static struct value *annotations(const struct tool *tool)
{
	bool is_read_only = tool->flags & TOOL_READ_ONLY;
	struct value *notes = value_new_map();

	if (is_read_only)
		value_add(notes, "readOnlyHint", value_new_bool(true));
	if (!is_read_only && !(tool->flags & TOOL_DESTRUCTIVE))
		value_add(notes, "destructiveHint", value_new_bool(false));
	if (!is_read_only && tool->flags & TOOL_IDEMPOTENT)
		value_add(notes, "idempotentHint", value_new_bool(true));
	value_add(notes, "openWorldHint", value_new_bool(false));
	return notes;
}

static struct value *describe(const struct tool *tool, const struct op_ceiling *ceiling)
{
	struct value *row = value_new_map();

	value_add(row, "name", value_new_text(tool->name));
	value_add(row, "title", value_new_text(tool->title));
	value_add(row, "description", value_new_text(tool->description));
	value_add(row, "inputSchema", tool_input_schema(tool, ceiling));
	value_add(row, "outputSchema", tool_output_schema(tool));
	value_add(row, "annotations", annotations(tool));
	return row;
}

static bool is_shown(const struct session *session, size_t index)
{
	return session->server->shows_all || tools[index]->flags & TOOL_CORE ||
	       session->shown >> index & 1;
}

void tools_list(const struct request_view *request)
{
	const struct tool *shown[TOOLS_MAX + 1];
	struct value *result = value_new_map(), *list;
	size_t count = 0, from, to;

	for (size_t i = 0; tools[i] && i < TOOLS_MAX; i++) {
		if (is_shown(request->session, i))
			shown[count++] = tools[i];
	}
	if (!request->session->server->shows_all)
		shown[count++] = &more_tool;
	if (!request_page(request, count, &from, &to, result))
		return;
	list = value_add(result, "tools", value_new_list());
	for (size_t i = from; i < to; i++)
		value_append(list, describe(shown[i], &request->session->server->ceiling));
	request_answer(request, result, true);
}

bool tools_more_is_meant(const struct request_view *request)
{
	const char *name = request->params ? value_get_text(request->params, "name") : NULL;

	return name && strcmp(name, more_tool.name) == 0;
}

/* The names asked for: a list, or one alone, or none. */
static int read_names(const struct value *arguments, struct strv *ret_names, struct error *err)
{
	const struct value *names =
		arguments && arguments->kind == VALUE_MAP ? value_get(arguments, "names") : NULL;
	char shown[STR_SHOWN_SIZE];

	if (names && names->kind == VALUE_TEXT)
		strv_add(ret_names, names->text.bytes);
	else if (names && names->kind != VALUE_LIST && names->kind != VALUE_NULL)
		return error_set(err, ERROR_USAGE,
				 "the argument 'names' must be a list of strings");
	for (size_t i = 0; names && names->kind == VALUE_LIST && i < names->many.count; i++) {
		const struct value *name = names->many.items[i];

		strv_add(ret_names, name->kind == VALUE_TEXT ? name->text.bytes : "");
	}
	for (size_t i = 0; i < ret_names->count; i++) {
		if (!tool_find(ret_names->items[i]))
			return error_set(err, ERROR_NOT_FOUND, "no tool '%s'",
					 str_shown(ret_names->items[i], shown));
	}
	return 0;
}

/* One more that the session is shown from now on; true when it was not. */
static bool show(const struct request_view *request, size_t index)
{
	struct session *session = request->session;
	/* Without a handshake each request stands for itself. */
	bool is_new = request->version != MCP_2026_07_28 && !is_shown(session, index);

	if (is_new)
		session->shown |= UINT64_C(1) << index;
	return is_new;
}

static void announce(const struct request_view *request)
{
	owned(str_done) struct str out = STR_INIT;

	rpc_add_call(&out, NULL, "notifications/tools/list_changed", NULL);
	request->channel->send(request->channel, &out, false);
}

/* The rows that are wanted: with their arguments where NAMES has some, else a line of each that is not shown. */
static struct value *wanted_rows(const struct request_view *request, const struct strv *names)
{
	struct value *list = value_new_list(), *row;
	bool has_changed = false;

	for (size_t i = 0; tools[i] && i < TOOLS_MAX; i++) {
		bool is_wanted = strv_has(names, tools[i]->name);

		if (names->count > 0 ? !is_wanted : is_shown(request->session, i))
			continue;
		row = value_append(list, value_new_map());
		value_add(row, "name", value_new_text(tools[i]->name));
		value_add(row, "description", value_new_text(tools[i]->description));
		if (!is_wanted)
			continue;
		value_add(row, "inputSchema",
			  tool_input_schema(tools[i], &request->session->server->ceiling));
		has_changed |= show(request, i);
	}
	if (has_changed)
		announce(request);
	return list;
}

void tools_more(const struct request_view *request)
{
	owned(str_done) struct str result = STR_INIT, out = STR_INIT;
	owned(strv_done) struct strv names = STRV_INIT;
	struct value *object;
	struct error err;

	if (read_names(value_get(request->params, "arguments"), &names, &err) < 0) {
		answer_refusal(&err, request->version, &result);
	} else {
		object = value_new_map();
		value_add(object, "tools", wanted_rows(request, &names));
		answer_object(object, request->version, &result);
	}
	rpc_add_result(&out, request->id, str_cstr(&result), result.len);
	request->channel->send(request->channel, &out, true);
}
