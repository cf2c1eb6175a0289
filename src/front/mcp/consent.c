/*
 * Promotions that a person has to agree to: by the client's own dialogue where it has one, else by a request that stays.
 *
 * The question is kept by the operation itself, with the digest of what it is about; only its id travels. An answer
 * becomes a second call, which decides that request and nothing else.
 */
#include "front/mcp/consent.h"

#include "base/json_write.h"
#include "base/own.h"

#include <string.h>

#define TRIGGERS_TOLD 10

/* Words of a model's in a sentence of ours: on one line, and not endless. */
static void add_foreign(struct str *out, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len && i < 500; i++)
		str_add_char(out, (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i]);
	str_add(out, len > 500 ? "..." : "");
}

static void tell_question(const struct value *ask, struct str *out)
{
	const struct value *triggers = value_get(ask, "triggers");
	const char *reason = value_get_text(ask, "reason");
	size_t count = triggers ? triggers->many.count : 0;

	str_addf(out, "Apply %lld files of the sandbox %s to %s? Bundle %.16s.",
		 (long long)value_int_of(ask, "files"), value_get_text(ask, "sandbox"),
		 value_get_text(ask, "target"), value_get_text(ask, "bundle"));
	if (reason) {
		str_add(out, " The agent says: ");
		add_foreign(out, reason);
	}
	for (size_t i = 0; i < count && i < TRIGGERS_TOLD; i++) {
		const struct value *one = triggers->many.items[i];
		const char *path = value_get_text(one, "path"), *why = value_get_text(one, "why");

		str_add(out, i == 0 ? " These could make something run: " : "; ");
		add_foreign(out, path ? path : "?");
		str_addf(out, " (%s)", why ? why : "?");
	}
	if (count > TRIGGERS_TOLD)
		str_addf(out, "; and %zu more", count - TRIGGERS_TOLD);
}

/* Whether the profile has gates, and all of them hold. */
static bool gates_hold(const struct tool_call *work)
{
	owned(value_release) struct value *arguments = value_new_map();
	struct tool_call check;
	struct error ignored;
	const char *verdict;
	bool hold;

	value_add(arguments, "sandbox", value_new_text(work->call.words.items[1]));
	tool_call_init(&check, tool_find("gate_check"), work->call.ceiling, work->call.environ);
	hold = tool_call_read(&check, arguments, &ignored) == 0 &&
	       tool_call_perform(&check, &ignored) == 0;
	verdict = hold ? value_get_text(check.call.answer, "verdict") : NULL;
	hold = verdict && strcmp(verdict, "pass") == 0;
	tool_call_done(&check);
	return hold;
}

static int read_decision(struct tool_call *decision, const char *request_id, struct error *err)
{
	owned(value_release) struct value *arguments = value_new_map();

	value_add(arguments, "request_id", value_new_text(request_id));
	return tool_call_read(decision, arguments, err);
}

/* The policy's own word; the answer of the call is then that of the decision. False: it stays a question. */
static bool decide_here(struct tool_call *work)
{
	struct tool_call decision;
	struct error ignored;
	bool done;

	tool_call_init(&decision, &tool_approve, work->call.ceiling, work->call.environ);
	done = read_decision(&decision, value_get_text(work->call.answer, "request_id"),
			     &ignored) == 0 &&
	       tool_call_perform(&decision, &ignored) == 0;
	if (done) {
		value_free(work->call.answer);
		work->call.answer = ptr_take(&decision.call.answer);
	}
	tool_call_done(&decision);
	return done;
}

bool consent_needed(struct tool_call *work, enum mcp_policy policy, struct str *ret_question)
{
	const struct value *ask = work->call.answer;
	const struct value *triggers = value_get(ask, "triggers");
	owned(value_release) struct value *question = NULL;
	owned(str_done) struct str message = STR_INIT;

	if (policy == MCP_POLICY_GATES && triggers && triggers->many.count == 0 &&
	    gates_hold(work) && decide_here(work))
		return false;
	tell_question(ask, &message);
	question = value_new_map();
	value_add(question, "request_id", value_new_text(value_get_text(ask, "request_id")));
	value_add(question, "message", value_new_text(str_cstr(&message)));
	json_write(ret_question, question, 0);
	return true;
}

/* The dialogue: one box to tick. */
static struct value *dialogue(const struct value *question)
{
	struct value *params = value_new_map(), *schema, *properties, *box;

	value_add(params, "message", value_new_text(value_get_text(question, "message")));
	schema = value_add(params, "requestedSchema", value_new_map());
	value_add(schema, "type", value_new_text("object"));
	properties = value_add(schema, "properties", value_new_map());
	box = value_add(properties, "approve", value_new_map());
	value_add(box, "type", value_new_text("boolean"));
	value_add(box, "title", value_new_text("Apply this to the real files"));
	value_append(value_add(schema, "required", value_new_list()), value_new_text("approve"));
	return params;
}

static void send_request(struct call *call)
{
	owned(value_release) struct value *id = NULL, *params = dialogue(call->question);
	owned(str_done) struct str out = STR_INIT;

	call->asked = ++call->session->server->last_asked;
	id = value_new_int(call->asked);
	rpc_add_call(&out, id, "elicitation/create", params);
	call->channel->send(call->channel, &out, false);
}

/* Without server's requests the question is the answer, and the client calls again with what its user said. */
static void send_input_required(struct call *call)
{
	owned(value_release) struct value *result = value_new_map();
	owned(str_done) struct str out = STR_INIT, json = STR_INIT;
	struct value *requests, *consent;

	value_add(result, "resultType", value_new_text("input_required"));
	requests = value_add(result, "inputRequests", value_new_map());
	consent = value_add(requests, "consent", value_new_map());
	value_add(consent, "method", value_new_text("elicitation/create"));
	value_add(consent, "params", dialogue(call->question));
	value_add(result, "requestState",
		  value_new_text(value_get_text(call->question, "request_id")));
	json_write(&json, result, 0);
	rpc_add_result(&out, call->id, str_cstr(&json), json.len);
	call->is_answered = true;
	call->channel->send(call->channel, &out, true);
}

bool consent_ask(struct call *call)
{
	if (!call->may_ask || !call->channel)
		return false;
	if (call->version == MCP_2026_07_28)
		send_input_required(call);
	else
		send_request(call);
	return true;
}

/* {action: "accept", content: {approve: true}}, and nothing less. */
static bool is_yes(const struct value *result)
{
	const char *action =
		result && result->kind == VALUE_MAP ? value_get_text(result, "action") : NULL;
	const struct value *content = action ? value_get(result, "content") : NULL;

	return action && strcmp(action, "accept") == 0 && content && content->kind == VALUE_MAP &&
	       value_is_true(content, "approve");
}

void consent_decide(struct call *call)
{
	struct server *server = call->session->server;
	struct tool_call decision;
	struct error err;

	tool_call_init(&decision, call->said == SAID_YES ? &tool_approve : &tool_reject,
		       &server->ceiling, server->environ);
	(void)read_decision(&decision, value_get_text(call->question, "request_id"), &err);
	value_free(call->question);
	call->question = NULL;
	call->asked = 0;
	tool_call_done(&call->work);
	call->work = decision;
	call_begin(server, call);
}

void consent_answered(struct session *session, const struct value *response)
{
	const struct value *id = value_get(response, "id");
	struct call *call = session->server->calls;

	while (call && !(call->session == session && call->asked && id && id->kind == VALUE_INT &&
			 id->integer == call->asked))
		call = call->next;
	if (!call || call->is_cancelled || call->said)
		return;
	call->said = is_yes(value_get(response, "result")) ? SAID_YES : SAID_NO;
	if (!call->pid)
		consent_decide(call);
}

bool consent_brought(const struct request_view *request, const struct tool *tool)
{
	const char *state =
		request->params ? value_get_text(request->params, "requestState") : NULL;
	const struct value *responses =
		request->params ? value_get(request->params, "inputResponses") : NULL;
	const struct value *said =
		responses && responses->kind == VALUE_MAP ? value_get(responses, "consent") : NULL;
	struct server *server = request->session->server;
	struct tool_call decision;
	struct error err;

	if (request->version != MCP_2026_07_28 || !(tool->flags & TOOL_ASKS) || !state || !said)
		return false;
	tool_call_init(&decision, is_yes(said) ? &tool_approve : &tool_reject, &server->ceiling,
		       server->environ);
	(void)read_decision(&decision, state, &err);
	call_queue(server, call_make(request, &decision));
	return true;
}
