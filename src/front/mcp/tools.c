/* SPDX-License-Identifier: Apache-2.0 */
/* The way from a request to the call of a tool. */
#include "front/mcp/methods.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "front/mcp/answer.h"
#include "front/mcp/consent.h"

#include <stdio.h>
#include <string.h>

/* Wrong arguments are reported as the tool's own answer: models read that, and try again. */
static void refuse(const struct request_view *request, const struct error *err)
{
	owned(str_done) struct str result = STR_INIT, out = STR_INIT;

	answer_refusal(err, request->version, &result);
	rpc_add_result(&out, request->id, str_cstr(&result), result.len);
	request->channel->send(request->channel, &out, true);
}

/* Tools that change the real files are subject to the policy, whatever else they check. */
static bool is_barred(const struct server *server, const struct tool *tool, struct error *err)
{
	if (tool->flags & (TOOL_ASKS | TOOL_PROMOTES) && server->policy == MCP_POLICY_NEVER) {
		error_advise(err, ERROR_DENIED, "a person can: aisbx promote NAME",
			     "%s: this server was started with --promote-policy never", tool->name);
		return true;
	}
	return false;
}

/* The tool that is meant, or NULL: the request has failed then. */
static const struct tool *named_tool(const struct request_view *request)
{
	const struct value *named = request->params ? value_get(request->params, "name") : NULL;
	const char *name = named && named->kind == VALUE_TEXT ? named->text.bytes : NULL;
	bool is_whole = name && strlen(name) == named->text.len;
	const struct tool *tool = is_whole ? tool_find(name) : NULL;
	char shown[STR_SHOWN_SIZE], text[160];

	if (tool)
		return tool;
	(void)snprintf(text, sizeof(text), "no tool '%s'", name ? str_shown(name, shown) : "");
	request_fail(request, RPC_INVALID_PARAMS, text, NULL);
	return NULL;
}

/* A client that traces says so beside the arguments; a trace id among them is the caller's own choice. */
static void continue_trace(const struct request_view *request, struct op_call *call)
{
	const struct value *meta = request->params ? value_get(request->params, "_meta") : NULL;
	const char *parent =
		meta && meta->kind == VALUE_MAP ? value_get_text(meta, "traceparent") : NULL;

	if (!parent || !id_is_traceparent(parent) || op_arg_text(call, "trace"))
		return;
	for (const struct op_param *param = call->op->params; param && param->name; param++) {
		if (strcmp(param->name, "trace") == 0)
			op_arg_add(call, param, parent);
	}
}

void tools_call(const struct request_view *request)
{
	struct server *server = request->session->server;
	const struct tool *tool;
	struct tool_call work;
	struct error err;

	if (tools_more_is_meant(request)) {
		tools_more(request);
		return;
	}
	tool = named_tool(request);
	if (!tool)
		return;
	if (is_barred(server, tool, &err)) {
		refuse(request, &err);
		return;
	}
	if (tool->asking && server->policy == MCP_POLICY_ASK)
		tool = tool->asking;
	if (server->waiting >= MCP_WAITING_MAX) {
		error_advise(&err, ERROR_DENIED, "call again when some are done",
			     "%u calls wait for their turn already", server->waiting);
		refuse(request, &err);
		return;
	}
	tool_call_init(&work, tool, &server->ceiling, server->environ);
	int status = consent_is_brought(request, tool)
			     ? consent_take(request, &work, &err)
			     : tool_call_read(&work, value_get(request->params, "arguments"), &err);

	if (status < 0) {
		refuse(request, &err);
		tool_call_done(&work);
		return;
	}
	continue_trace(request, &work.call);
	struct call *call = call_make(request, &work);

	/* What a person has a say in is more than what the client asked for. */
	if (!(tool->flags & (TOOL_ASKS | TOOL_PROMOTES)) &&
	    request->message->len <= SPARE_REQUEST_MAX)
		str_add_bytes(&call->request, request->message->bytes, request->message->len);
	call_queue(server, call);
}
