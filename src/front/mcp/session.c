/* SPDX-License-Identifier: Apache-2.0 */
/* What a client may say: the handshake, or none, and the method table. */
#include "front/mcp/server.h"

#include "base/text/json_write.h"
#include "base/core/own.h"
#include "front/mcp/consent.h"
#include "front/mcp/log.h"
#include "front/mcp/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define UNSUPPORTED_VERSION (-32022)
#define PAGE 100
/* How long a list may be taken for true. */
#define LIST_FRESH_MS 60000

static const char *const version_names[] = {
	[MCP_NONE] = "",
	[MCP_2024_11_05] = "2024-11-05",
	[MCP_2025_03_26] = "2025-03-26",
	[MCP_2025_06_18] = "2025-06-18",
	[MCP_2025_11_25] = "2025-11-25",
	[MCP_2026_07_28] = "2026-07-28",
};

const char *mcp_version_name(enum mcp_version version)
{
	return version_names[version];
}

enum mcp_version mcp_version_find(const char *name)
{
	for (enum mcp_version at = MCP_2024_11_05; at <= MCP_2026_07_28; at++) {
		if (strcmp(version_names[at], name) == 0)
			return at;
	}
	return MCP_NONE;
}

void session_init(struct session *session, struct server *server)
{
	*session = (struct session){ .server = server, .level = MCP_QUIET };
}

static void send_error(struct channel *channel, const struct value *id, int code, const char *text,
		       const struct value *data)
{
	owned(str_done) struct str out = STR_INIT;

	rpc_add_error(&out, id, code, text, data);
	channel->send(channel, &out, true);
}

void session_refuse(struct channel *channel, int code, const char *text)
{
	send_error(channel, NULL, code, text, NULL);
}

void request_fail(const struct request_view *request, int code, const char *text,
		  const struct value *data)
{
	send_error(request->channel, request->id, code, text, data);
}

void request_answer(const struct request_view *request, struct value *result, bool is_cacheable)
{
	owned(str_done) struct str out = STR_INIT, json = STR_INIT;

	if (request->version == MCP_2026_07_28) {
		value_set(result, "resultType", value_new_text("complete"));
		if (is_cacheable) {
			value_set(result, "ttlMs", value_new_int(LIST_FRESH_MS));
			value_set(result, "cacheScope", value_new_text("private"));
		}
	}
	json_write(&json, result, 0);
	value_free(result);
	rpc_add_result(&out, request->id, str_cstr(&json), json.len);
	request->channel->send(request->channel, &out, true);
}

bool request_page(const struct request_view *request, size_t count, size_t *ret_from,
		  size_t *ret_to, struct value *result)
{
	const struct value *cursor = request->params ? value_get(request->params, "cursor") : NULL;
	char *end = NULL;
	size_t from = 0;

	if (cursor && cursor->kind == VALUE_TEXT)
		from = strtoul(cursor->text.bytes, &end, 10);
	if (cursor && cursor->kind != VALUE_NULL &&
	    (!end || *end || !*cursor->text.bytes || from > count)) {
		request_fail(request, RPC_INVALID_PARAMS, "cursor: none that this server gave out",
			     NULL);
		value_free(result);
		return false;
	}
	*ret_from = from;
	*ret_to = count - from > PAGE ? from + PAGE : count;
	if (*ret_to < count) {
		char next[24];

		(void)snprintf(next, sizeof(next), "%zu", *ret_to);
		value_add(result, "nextCursor", value_new_text(next));
	}
	return true;
}

/* The version a request names for itself; MCP_NONE when it names none. False: one we do not speak, and that is answered. */
static bool read_own_version(struct request_view *request)
{
	const struct value *meta = request->params ? value_get(request->params, "_meta") : NULL;
	const char *name =
		meta && meta->kind == VALUE_MAP ? value_get_text(meta, META_VERSION) : NULL;

	if (!name)
		return true;
	request->version = mcp_version_find(name);
	if (request->version == MCP_2026_07_28) {
		const struct value *client = value_get(meta, META_CAPABILITIES);
		const char *level = value_get_text(meta, META_LOG_LEVEL);

		request->may_ask =
			client && client->kind == VALUE_MAP && value_get(client, "elicitation");
		request->log_level = level ? log_level_find(level) : MCP_QUIET;
		return true;
	}
	owned(value_release) struct value *data = value_new_map();
	struct value *supported = value_add(data, "supported", value_new_list());

	value_append(supported, value_new_text(version_names[MCP_2026_07_28]));
	value_add(data, "requested", value_new_text(name));
	request_fail(request, UNSUPPORTED_VERSION, "protocol version not supported here", data);
	return false;
}

static void receive_request(struct session *session, struct channel *channel,
			    const struct rpc_message *message)
{
	struct request_view request = { .session = session,
					.channel = channel,
					.id = message->id,
					.params = message->params,
					.message = message,
					.version = session->version,
					.may_ask = session->elicits,
					.log_level = session->level };
	const struct method *method = method_find(message->method);
	char shown[STR_SHOWN_SIZE], text[160];

	if (!method) {
		(void)snprintf(text, sizeof(text), "no method '%s'",
			       str_shown(message->method, shown));
		request_fail(&request, RPC_METHOD_NOT_FOUND, text, NULL);
		return;
	}
	if (!read_own_version(&request))
		return;
	if (call_find(session, message->id)) {
		request_fail(&request, RPC_INVALID_REQUEST,
			     "a request with this id is still being answered", NULL);
		return;
	}
	if (request.version == MCP_NONE && method->needs_version) {
		request_fail(&request, RPC_INVALID_REQUEST, "initialize first", NULL);
		return;
	}
	method->answer(&request);
}

static void receive_notification(struct session *session, const struct rpc_message *message)
{
	const struct value *id = message->params ? value_get(message->params, "requestId") : NULL;
	struct call *call;

	if (strcmp(message->method, "notifications/cancelled") != 0 || !id)
		return;
	call = call_find(session, id);
	if (call)
		call_cancel(call);
}

void session_receive(struct session *session, struct channel *channel, const char *bytes,
		     size_t len)
{
	struct rpc_message message;
	struct rpc_fault fault;

	if (rpc_read(bytes, len, &message, &fault) < 0) {
		send_error(channel, fault.id, fault.code, fault.text, NULL);
		rpc_fault_done(&fault);
		return;
	}
	if (message.kind == RPC_REQUEST)
		receive_request(session, channel, &message);
	else if (message.kind == RPC_NOTIFICATION)
		receive_notification(session, &message);
	else
		consent_answered(session, message.tree);
	rpc_message_done(&message);
}
