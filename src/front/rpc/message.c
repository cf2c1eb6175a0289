/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0: what a message may look like, and how answers do. */
#include "front/rpc/message.h"

#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"

#include <stdio.h>
#include <string.h>

static int fault(struct rpc_fault *fault, int code, const char *text)
{
	fault->code = code;
	(void)snprintf(fault->text, sizeof(fault->text), "%s", text);
	return -1;
}

static bool is_id(const struct value *id)
{
	return id->kind == VALUE_TEXT || id->kind == VALUE_INT;
}

struct value *rpc_copy_id(const struct value *id)
{
	if (!id || !is_id(id))
		return NULL;
	return id->kind == VALUE_INT ? value_new_int(id->integer)
				     : value_new_bytes(id->text.bytes, id->text.len);
}

bool rpc_same_id(const struct value *one, const struct value *other)
{
	if (!one || !other || one->kind != other->kind)
		return false;
	if (one->kind == VALUE_INT)
		return one->integer == other->integer;
	return one->kind == VALUE_TEXT && one->text.len == other->text.len &&
	       memcmp(one->text.bytes, other->text.bytes, one->text.len) == 0;
}

/* What is wrong with the members of a message, or NULL. */
static const char *wrong_with(const struct value *tree)
{
	const struct value *id = value_get(tree, "id"), *method = value_get(tree, "method");
	const struct value *params = value_get(tree, "params");
	const char *version = value_get_text(tree, "jsonrpc");
	bool has_answer = value_get(tree, "result") || value_get(tree, "error");

	if (!version || strcmp(version, "2.0") != 0)
		return "jsonrpc must be \"2.0\"";
	if (id && !is_id(id) && (method || !has_answer))
		return "id must be a string or a whole number";
	if (method &&
	    (method->kind != VALUE_TEXT || strlen(method->text.bytes) != method->text.len))
		return "method must be a string, without NUL";
	if (!method && !has_answer)
		return "neither a method nor an answer";
	return params && params->kind != VALUE_MAP ? "params must be an object" : NULL;
}

static int check_shape(struct rpc_message *message, struct rpc_fault *ret_fault)
{
	const struct value *tree = message->tree;
	const struct value *id = value_get(tree, "id"), *method = value_get(tree, "method");
	const char *wrong = wrong_with(tree);

	if (id && is_id(id))
		ret_fault->id = rpc_copy_id(id);
	if (wrong)
		return fault(ret_fault, RPC_INVALID_REQUEST, wrong);
	message->params = value_get(tree, "params");
	message->id = id;
	message->method = method ? method->text.bytes : NULL;
	message->kind = !method ? RPC_RESPONSE : id ? RPC_REQUEST : RPC_NOTIFICATION;
	return 0;
}

int rpc_read(const char *bytes, size_t len, struct rpc_message *ret_message,
	     struct rpc_fault *ret_fault)
{
	const struct json_limits limits = { .bytes = RPC_MESSAGE_MAX,
					    .depth = RPC_DEPTH_MAX,
					    .values = RPC_VALUES_MAX,
					    .nul = true };
	struct rpc_message message = { .kind = RPC_REQUEST, .bytes = bytes, .len = len };
	struct error err;

	*ret_fault = (struct rpc_fault){ .id = NULL };
	if (json_read(bytes, len, &limits, &message.tree, &err) < 0)
		return fault(ret_fault, RPC_PARSE_ERROR, err.text);
	int status = message.tree->kind == VALUE_MAP ? check_shape(&message, ret_fault)
						     : fault(ret_fault, RPC_INVALID_REQUEST,
							     "one object per message; no batches");

	if (status < 0) {
		rpc_message_done(&message);
		return -1;
	}
	rpc_fault_done(ret_fault);
	*ret_message = message;
	return 0;
}

void rpc_message_done(struct rpc_message *message)
{
	value_free(message->tree);
	*message = (struct rpc_message){ .tree = NULL };
}

void rpc_fault_done(struct rpc_fault *fault)
{
	value_free(fault->id);
	fault->id = NULL;
}

static void open_message(struct str *out, const struct value *id)
{
	str_add(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (id)
		json_write(out, id, 0);
	else
		str_add(out, "null");
}

void rpc_add_result(struct str *out, const struct value *id, const char *result, size_t len)
{
	open_message(out, id);
	str_add(out, ",\"result\":");
	str_add_bytes(out, result, len);
	str_add_char(out, '}');
}

void rpc_add_error(struct str *out, const struct value *id, int code, const char *text,
		   const struct value *data)
{
	struct json json;

	open_message(out, id);
	str_addf(out, ",\"error\":{\"code\":%d,\"message\":", code);
	json_init(&json, out);
	json_text(&json, text);
	if (data) {
		str_add(out, ",\"data\":");
		json_write(out, data, 0);
	}
	str_add(out, "}}");
}

void rpc_add_call(struct str *out, const struct value *id, const char *method,
		  const struct value *params)
{
	struct json json;

	str_add(out, "{\"jsonrpc\":\"2.0\",");
	if (id) {
		str_add(out, "\"id\":");
		json_write(out, id, 0);
		str_add_char(out, ',');
	}
	str_add(out, "\"method\":");
	json_init(&json, out);
	json_text(&json, method);
	if (params) {
		str_add(out, ",\"params\":");
		json_write(out, params, 0);
	}
	str_add_char(out, '}');
}
