/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promotions that a person has to agree to: by the client's own dialogue where it has one, else by a request that stays.
 *
 * The question is kept by the operation itself, with the digest of what it is about; only its id travels. An answer
 * becomes a second call, which decides that request and nothing else.
 */
#include "front/mcp/consent.h"

#include "base/core/id.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "ops/promotion.h"
#include "ops/text/words.h"

#include <stdlib.h>
#include <string.h>

#define PATHS_TOLD 30
/* A dialogue shows every trigger that is agreed to; above this number none is opened. */
#define TRIGGERS_TOLD 50
#define REASON_TOLD 300
/* Of more files than this the lines are not counted. */
#define COUNTED_MAX 2000

/* Questions put as the answer of a call, by what the client brings back with its user's word; oldest first. */
struct put_question {
	struct put_question *next;
	char token[ID_RUN_SIZE]; /* in no other answer: a client that sends it has asked its user */
	char *request_id;
};

static void forget_first(struct server *server)
{
	struct put_question *first = server->questions;

	server->questions = first->next;
	free(first->request_id);
	free(first);
}

void consent_done(struct server *server)
{
	while (server->questions)
		forget_first(server);
}

/* NULL when there is no randomness for it. */
static const char *remember(struct server *server, const char *request_id)
{
	struct put_question *question = xcalloc(1, sizeof(*question)), **end = &server->questions;
	struct error ignored;
	size_t count = 1;

	if (id_run(question->token, &ignored) < 0) {
		free(question);
		return NULL;
	}
	for (; *end; end = &(*end)->next)
		count++;
	question->request_id = xstrdup(request_id);
	*end = question;
	if (count > MCP_QUESTIONS_MAX)
		forget_first(server);
	return question->token;
}

/* The request that was asked about with TOKEN, owned by the caller; once. NULL: there was no such question. */
static char *recall(struct server *server, const char *token)
{
	struct put_question **slot = &server->questions, *found;
	char *request_id;

	while (*slot && strcmp((*slot)->token, token) != 0)
		slot = &(*slot)->next;
	found = *slot;
	if (!found)
		return NULL;
	*slot = found->next;
	request_id = found->request_id;
	free(found);
	return request_id;
}

static size_t count_of(const struct value *list)
{
	return list && list->kind == VALUE_LIST ? list->many.count : 0;
}

/* How many lines of each file came and went, as the rows of `diff --stat --json`; NULL where that cannot be had. */
static struct value *count_lines(const struct tool_call *work)
{
	owned(value_release) struct value *arguments = value_new_map();
	struct value *files = NULL;
	struct tool_call count;
	struct error ignored;

	if (value_int_of(work->call.answer, "files") > COUNTED_MAX)
		return NULL;
	value_add(arguments, "sandbox",
		  value_new_text(value_get_text(work->call.answer, "sandbox")));
	tool_call_init(&count, tool_find_any("lines"), work->call.ceiling, work->call.environ);
	if (tool_call_read(&count, arguments, &ignored) == 0 &&
	    tool_call_perform(&count, &ignored) == 0)
		files = value_take(count.call.answer, "files");
	tool_call_done(&count);
	return files;
}

/* "+3 -1" behind a path. */
static void report_lines(const struct value *lines, const char *path, struct str *out)
{
	for (size_t i = 0; i < count_of(lines); i++) {
		const struct value *row = lines->many.items[i];
		const char *of = value_get_text(row, "path");

		if (!of || strcmp(of, path) != 0)
			continue;
		if (value_is_true(row, "binary"))
			str_add(out, "  binary");
		else
			str_addf(out, "  +%lld −%lld", (long long)value_int_of(row, "added"),
				 (long long)value_int_of(row, "removed"));
		return;
	}
}

/* Paths, one to a line, with their lines; those of TRIGGERS with what they would do. */
static void report_paths(const struct value *list, const char *title, size_t max,
			 const struct value *lines, struct str *out)
{
	size_t count = count_of(list);

	for (size_t i = 0; i < count && i < max; i++) {
		const struct value *one = list->many.items[i];
		bool is_trigger = one->kind == VALUE_MAP;
		const char *path = is_trigger ? value_get_text(one, "path") : one->text.bytes;
		const char *why = is_trigger ? value_get_text(one, "why") : NULL;

		str_addf(out, "%s\n  ", i == 0 ? title : "");
		words_add_path(out, path ? path : "?");
		if (path)
			report_lines(lines, path, out);
		if (why)
			str_addf(out, " (%s)", why);
	}
	if (count > max)
		str_addf(out, "\n  and %zu more", count - max);
}

/* What we know first; the agent's own words last, on a line of their own, in quotes that they cannot end. */
static void report_question(const struct value *ask, const struct value *lines, struct str *out)
{
	const char *reason = value_get_text(ask, "reason");

	str_add(out, "Apply ");
	promotion_report_ask(out, ask);
	str_add_char(out, '?');
	report_paths(value_get(ask, "triggers"), "\nThese could make something run:", TRIGGERS_TOLD,
		     lines, out);
	report_paths(value_get(ask, "paths"), "\nFiles:", PATHS_TOLD, lines, out);
	if (reason) {
		str_add(out, "\nThe agent says: ");
		words_add_quoted(out, reason, REASON_TOLD);
	}
}

/* Gates of the workspace alone would vouch for themselves. */
static bool may_gates_decide(const struct op_ceiling *ceiling, const struct value *ask)
{
	return ceiling->profiles.has_gates && promotion_may_gates_decide(ask);
}

/* Whether the profile has gates, and all of them hold for what was asked about: a snapshot, not what is there by now. */
static bool gates_hold(const struct tool_call *work)
{
	owned(value_release) struct value *arguments = value_new_map();
	struct tool_call check;
	struct error ignored;
	const char *verdict;
	bool hold;

	value_add(arguments, "sandbox",
		  value_new_text(value_get_text(work->call.answer, "sandbox")));
	tool_call_init(&check, tool_find("gate_check"), work->call.ceiling, work->call.environ);
	hold = tool_call_read(&check, arguments, &ignored) == 0 &&
	       tool_call_perform(&check, &ignored) == 0;
	verdict = hold ? value_get_text(check.call.answer, "verdict") : NULL;
	hold = verdict && strcmp(verdict, "pass") == 0;
	tool_call_done(&check);
	return hold;
}

/* The call that decides the request; to be ended by the caller also where it could not be made. */
static int make_decision(struct tool_call *decision, const char *request_id, bool is_yes,
			 const struct tool_call *from, struct error *err)
{
	owned(value_release) struct value *arguments = value_new_map();

	tool_call_init(decision, is_yes ? &tool_approve : &tool_reject, from->call.ceiling,
		       from->call.environ);
	if (!request_id || !*request_id)
		return error_set(err, ERROR_INTERNAL, "a question without a request");
	value_add(arguments, "request_id", value_new_text(request_id));
	return tool_call_read(decision, arguments, err);
}

/* The policy's own word; the answer of the call is then that of the decision. False: it stays a question. */
static bool decide_here(struct tool_call *work)
{
	struct tool_call decision;
	struct error ignored;
	bool done;

	done = make_decision(&decision, value_get_text(work->call.answer, "request_id"), true, work,
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
	owned(value_release) struct value *question = NULL, *lines = NULL;
	owned(str_done) struct str message = STR_INIT;

	if (policy == MCP_POLICY_GATES && may_gates_decide(work->call.ceiling, ask) &&
	    gates_hold(work) && decide_here(work))
		return false;
	lines = count_lines(work);
	report_question(ask, lines, &message);
	question = value_new_map();
	value_add(question, "is_shown",
		  value_new_bool(count_of(value_get(ask, "triggers")) <= TRIGGERS_TOLD));
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

/* False when the client is gone. */
static bool send_request(struct call *call)
{
	owned(value_release) struct value *id = NULL, *params = dialogue(call->question);
	owned(str_done) struct str out = STR_INIT;

	id = value_new_int(++call->session->server->last_asked);
	rpc_add_call(&out, id, "elicitation/create", params);
	if (!call->channel->send(call->channel, &out, false))
		return false;
	call->asked = id->integer;
	return true;
}

/* A client without elicitation gets the question as the answer, and calls again with its user's choice. */
static bool send_input_required(struct call *call)
{
	const char *token =
		remember(call->session->server, value_get_text(call->question, "request_id"));
	owned(value_release) struct value *result = value_new_map();
	owned(str_done) struct str out = STR_INIT, json = STR_INIT;
	struct value *requests, *consent;

	if (!token)
		return false;
	value_add(result, "resultType", value_new_text("input_required"));
	requests = value_add(result, "inputRequests", value_new_map());
	consent = value_add(requests, "consent", value_new_map());
	value_add(consent, "method", value_new_text("elicitation/create"));
	value_add(consent, "params", dialogue(call->question));
	value_add(result, "requestState", value_new_text(token));
	json_write(&json, result, 0);
	rpc_add_result(&out, call->id, str_cstr(&json), json.len);
	call->is_answered = true;
	call->channel->send(call->channel, &out, true);
	return true;
}

/* Questions that a person has not answered yet. */
static unsigned count_open(const struct server *server)
{
	unsigned count = 0;

	for (const struct call *call = server->calls; call; call = call->next)
		count += call->asked != 0;
	return count;
}

bool consent_ask(struct call *call)
{
	if (!call->may_ask || !call->channel || !value_is_true(call->question, "is_shown") ||
	    count_open(call->session->server) >= MCP_QUESTIONS_MAX)
		return false;
	if (call->version == MCP_2026_07_28)
		return send_input_required(call);
	return send_request(call);
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

	if (make_decision(&decision, value_get_text(call->question, "request_id"),
			  call->said == SAID_YES, &call->work, &err) < 0) {
		tool_call_done(&decision);
		call_refuse(call, &err);
		return;
	}
	value_free(call->question);
	call->question = NULL;
	call->asked = 0;
	tool_call_done(&call->work);
	call->work = decision;
	call_take_turn(server, call);
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
	call->said = !value_get(response, "error") && is_yes(value_get(response, "result"))
			     ? SAID_YES
			     : SAID_NO;
	if (!call->pid)
		consent_decide(call);
}

bool consent_is_brought(const struct request_view *request, const struct tool *tool)
{
	return request->version == MCP_2026_07_28 && tool->flags & TOOL_ASKS && request->params &&
	       value_get(request->params, "requestState") &&
	       value_get(request->params, "inputResponses");
}

int consent_take(const struct request_view *request, struct tool_call *work, struct error *err)
{
	const char *token = value_get_text(request->params, "requestState");
	const struct value *responses = value_get(request->params, "inputResponses");
	const struct value *said =
		responses->kind == VALUE_MAP ? value_get(responses, "consent") : NULL;
	owned(free_ptr) char *request_id =
		token && said && request->may_ask ? recall(request->session->server, token) : NULL;
	struct tool_call decision;

	if (!request_id)
		return error_set(err, ERROR_CONSENT,
				 "no question has this requestState, or it was answered "
				 "already: call again without requestState and inputResponses");
	int status = make_decision(&decision, request_id, is_yes(said), work, err);

	tool_call_done(work);
	*work = decision;
	return status;
}
