/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools at work: each in a child, at most so many at a time, first come first served.
 *
 * The child reports in frames: a letter, the length in four bytes, the bytes. R is the answer, X one that refuses, P what it is at,
 * Q a question that comes before the answer, L a message for the log, F why there is no resource, N that it takes
 * another call.
 */
#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/process/service_log.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "front/mcp/answer.h"
#include "front/mcp/call_child.h"
#include "front/mcp/consent.h"
#include "front/mcp/log.h"
#include "front/mcp/resources.h"
#include "front/mcp/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define TICK_NS (2000 * MS)
/* From the polite signal to the other one: longer than the grace that a command has by default. */
#define KILL_NS (4000 * MS)
#define REPORT_MAX ((size_t)16 << 20)

static void call_free(struct call *call)
{
	value_free(call->id);
	value_free(call->progress_token);
	value_free(call->question);
	str_done(&call->request);
	free(call->resource);
	tool_call_done(&call->work);
	str_done(&call->report);
	fd_close(&call->pid_fd);
	fd_close(&call->report_fd);
	fd_close(&call->input_fd);
	fd_close(&call->order_fd);
	free(call);
}

struct call *call_find(const struct session *session, const struct value *id)
{
	for (struct call *call = session->server->calls; call; call = call->next) {
		if (call->session == session && !call->is_answered && !call->is_cancelled &&
		    rpc_same_id(call->id, id))
			return call;
	}
	return NULL;
}

static void send_signal(const struct call *call, int signal)
{
	if (call->pid_fd >= 0)
		(void)child_signal(call->pid_fd, signal);
}

void call_cancel(struct call *call)
{
	if (call->is_cancelled)
		return;
	call->is_cancelled = true;
	call->channel = NULL;
	call->session->server->waiting -= call->is_waiting;
	call->is_waiting = false;
	if (call->pid) {
		send_signal(call, SIGTERM);
		call->kill_ns = clock_now_ns() + KILL_NS;
	}
}

void calls_forget_channel(struct server *server, const struct channel *channel)
{
	for (struct call *call = server->calls; call; call = call->next) {
		if (call->channel == channel)
			call_cancel(call);
	}
}

static void answer(struct call *call, const char *result, size_t len)
{
	owned(str_done) struct str out = STR_INIT;

	call->is_answered = true;
	if (!call->channel)
		return;
	rpc_add_result(&out, call->id, result, len);
	call->channel->send(call->channel, &out, true);
}

void call_refuse(struct call *call, const struct error *err)
{
	owned(str_done) struct str out = STR_INIT;

	answer_refusal(err, call->version, &out);
	call->is_refused = true;
	answer(call, str_cstr(&out), out.len);
}

static void answer_lost(struct call *call, const char *why)
{
	struct error err;

	if (call->resource) {
		resource_lost(call, NULL);
		return;
	}
	error_set(&err, ERROR_INTERNAL, "%s", why);
	call_refuse(call, &err);
}

static void send_progress(struct call *call, const char *what, size_t len)
{
	owned(value_release) struct value *params = NULL;
	owned(str_done) struct str out = STR_INIT;
	uint64_t now_ns = clock_now_ns();

	if (!call->progress_token || !call->channel || call->is_answered)
		return;
	params = value_new_map();
	value_add(params, "progressToken", rpc_copy_id(call->progress_token));
	value_add(params, "progress", value_new_real((double)(now_ns - call->started_ns) / 1e9));
	/* The sentence came with a message in 2025-03-26. */
	if (call->version >= MCP_2025_03_26)
		value_add(params, "message", value_new_bytes(what, len));
	rpc_add_call(&out, NULL, "notifications/progress", params);
	call->channel->send(call->channel, &out, false);
	call->sent_ns = now_ns;
}

/* Makes the pipes and the child. */
static void make_child(struct call *call)
{
	int input[2] = { -1, -1 };
	struct error ignored;

	if (call->work.has_input && pipe2(input, O_CLOEXEC) < 0) {
		answer_lost(call, "no pipe for the input; call again later");
		return;
	}
	call->pid = child_fork(CHILD_WRITES, 0, &call->report_fd, &ignored);
	if (call->pid == 0)
		call_child(call, input[0], call->report_fd);
	fd_close(&input[0]);
	call->input_fd = input[1];
	if (call->pid < 0) {
		call->pid = 0;
		answer_lost(call, "no process for it; call again later");
		return;
	}
	call->pid_fd = child_open(call->pid);
	if (call->input_fd >= 0)
		(void)fcntl(call->input_fd, F_SETFL, O_NONBLOCK);
}

static void call_begin(struct server *server, struct call *call)
{
	call->started_ns = call->sent_ns = clock_now_ns();
	policy_keeper_look(&server->keeper);
	if (!spare_take(server, call))
		make_child(call);
	if (!call->pid)
		return;
	(void)fcntl(call->report_fd, F_SETFL, O_NONBLOCK);
	server->running++;
}

struct call *call_make(const struct request_view *request, struct tool_call *work)
{
	const struct value *meta = request->params ? value_get(request->params, "_meta") : NULL;
	const struct value *token =
		meta && meta->kind == VALUE_MAP ? value_get(meta, "progressToken") : NULL;
	struct call *call = xcalloc(1, sizeof(*call));

	*call = (struct call){ .session = request->session,
			       .channel = request->channel,
			       .id = rpc_copy_id(request->id),
			       .progress_token = rpc_copy_id(token),
			       .version = request->version,
			       .may_ask = request->may_ask,
			       .log_level = request->log_level,
			       .work = *work,
			       .pid_fd = -1,
			       .report_fd = -1,
			       .input_fd = -1,
			       .order_fd = -1 };
	return call;
}

void call_queue(struct server *server, struct call *call)
{
	struct call **end = &server->calls;

	while (*end)
		end = &(*end)->next;
	*end = call;
	call_take_turn(server, call);
}

void call_take_turn(struct server *server, struct call *call)
{
	if (server->running < MCP_RUNNING_MAX) {
		call_begin(server, call);
	} else {
		call->is_waiting = true;
		server->waiting++;
	}
}

static void feed(struct call *call)
{
	const struct str *input = &call->work.input;

	while (call->input_fd >= 0 && call->input_at < input->len) {
		ssize_t put = write(call->input_fd, input->data + call->input_at,
				    input->len - call->input_at);

		if (put < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (put < 0)
			break;
		call->input_at += (size_t)put;
	}
	fd_close(&call->input_fd);
}

static void answer_failure(struct call *call, const char *bytes, size_t len)
{
	owned(value_release) struct value *said = NULL;
	struct error ignored;

	(void)json_read(bytes, len, NULL, &said, &ignored);
	resource_lost(call, said);
}

/* The user is asked before the answer, where the client can do that; else the answer has the state. */
static void take_frame(struct call *call, char kind, const char *bytes, size_t len)
{
	struct error ignored;

	call->is_refused |= kind == CALL_FRAME_REFUSAL;
	if (kind == CALL_FRAME_PROGRESS)
		send_progress(call, bytes, len);
	else if (kind == CALL_FRAME_LOG)
		log_pass_on(call, bytes, len);
	else if (kind == CALL_FRAME_NEXT)
		call->is_ready = call->order_fd >= 0;
	else if (kind == CALL_FRAME_FAILURE && !call->is_answered)
		answer_failure(call, bytes, len);
	else if (kind == CALL_FRAME_QUESTION && !call->question)
		(void)json_read(bytes, len, NULL, &call->question, &ignored);
	else if ((kind == CALL_FRAME_ANSWER || kind == CALL_FRAME_REFUSAL) && !call->is_answered &&
		 !(call->question && consent_ask(call)))
		answer(call, bytes, len);
}

/* The frames that are complete. */
static void take_frames(struct call *call)
{
	struct str *report = &call->report;
	size_t at = 0;

	while (report->len - at >= CALL_FRAME_HEAD) {
		const char *frame = report->data + at;
		uint32_t len;

		memcpy(&len, frame + 1, sizeof(len));
		if (report->len - at - CALL_FRAME_HEAD < len)
			break;
		take_frame(call, frame[0], frame + CALL_FRAME_HEAD, len);
		at += CALL_FRAME_HEAD + len;
	}
	str_drop_front(report, at);
}

/* Whatever the child wrote by now. */
static void take_report(struct call *call)
{
	char buffer[65536];

	while (call->report_fd >= 0) {
		ssize_t got = read(call->report_fd, buffer, sizeof(buffer));

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0 || call->report.len + (size_t)got > REPORT_MAX) {
			fd_close(&call->report_fd);
			break;
		}
		str_add_bytes(&call->report, buffer, (size_t)got);
		take_frames(call);
	}
}

/* True when its child has ended and is buried. */
static bool reap(struct call *call)
{
	int status = 0;

	if (waitpid(call->pid, &status, WNOHANG) != call->pid)
		return false;
	take_report(call);
	call->pid = 0;
	fd_close(&call->pid_fd);
	fd_close(&call->report_fd);
	fd_close(&call->input_fd);
	fd_close(&call->order_fd);
	if (!call->is_answered && !call->is_cancelled && !call->asked)
		answer_lost(call, "the operation ended without an answer; see the history");
	return true;
}

static bool has_ended(struct server *server, struct call *call)
{
	if (!call->pid && !call->is_answered && !call->is_cancelled)
		return false;
	/* Cancelled while it waited for its turn or a person, or it could not be started. */
	if (!call->pid)
		return true;
	if (call->input_fd >= 0)
		feed(call);
	take_report(call);
	if (call->is_ready && spare_return(server, call)) {
		server->running--;
		return true;
	}
	call->is_ready = false;
	if (call->kill_ns && clock_now_ns() > call->kill_ns)
		send_signal(call, SIGKILL);
	if (clock_now_ns() - call->sent_ns > TICK_NS)
		send_progress(call, "running", strlen("running"));
	if (!reap(call))
		return false;
	server->running--;
	if (!call->asked || call->is_cancelled)
		return true;
	/* A person thinks about it, or was quick. */
	if (call->said)
		consent_decide(call);
	return false;
}

/* Neither arguments nor answers: those may hold secrets. */
static void log_end(const struct call *call)
{
	const char *outcome = call->is_cancelled ? "cancelled"
			      : call->is_refused ? "refused"
						 : "answered";
	uint64_t ms = call->started_ns ? (clock_now_ns() - call->started_ns) / MS : 0;

	if (!call->resource)
		service_log(SERVICE_INFO, "a call ended",
			    SERVICE_FIELDS(SERVICE_TEXT("tool", call->work.tool->name),
					   SERVICE_TEXT("outcome", outcome),
					   SERVICE_NUMBER("ms", ms)));
}

void calls_turn(struct server *server)
{
	struct call **slot = &server->calls;

	zygote_pool_look(&server->zygote_pool);
	while (*slot) {
		struct call *call = *slot;

		if (has_ended(server, call)) {
			*slot = call->next;
			log_end(call);
			call_free(call);
		} else {
			slot = &call->next;
		}
	}
	for (struct call *call = server->calls; call && server->waiting > 0; call = call->next) {
		if (server->running >= MCP_RUNNING_MAX || server->is_ending)
			break;
		if (!call->is_waiting || call->is_cancelled)
			continue;
		call->is_waiting = false;
		server->waiting--;
		call_begin(server, call);
	}
}

size_t calls_polls(struct server *server, struct pollfd *polls, size_t room)
{
	size_t count = 0;

	polls[count++] = (struct pollfd){ .fd = zygote_pool_poll_fd(&server->zygote_pool),
					  .events = POLLIN };
	for (struct call *call = server->calls; call && room - count >= 3; call = call->next) {
		if (!call->pid)
			continue;
		polls[count++] = (struct pollfd){ .fd = call->pid_fd, .events = POLLIN };
		if (call->report_fd >= 0)
			polls[count++] = (struct pollfd){ .fd = call->report_fd, .events = POLLIN };
		if (call->input_fd >= 0)
			polls[count++] = (struct pollfd){ .fd = call->input_fd, .events = POLLOUT };
	}
	return count;
}

int calls_timeout(const struct server *server)
{
	int timeout = -1;

	for (const struct call *call = server->calls; call; call = call->next) {
		if (call->kill_ns)
			return 100;
		if (call->progress_token && !call->is_answered)
			timeout = 500;
	}
	return timeout;
}

void calls_end(struct server *server, unsigned grace_ms)
{
	struct pollfd polls[MCP_POLLS_MAX];
	uint64_t until_ns = clock_now_ns() + grace_ms * MS;
	bool is_notified = false;

	server->is_ending = true;
	while (server->running > 0) {
		if (clock_now_ns() >= until_ns && !is_notified) {
			for (struct call *call = server->calls; call; call = call->next)
				call_cancel(call);
			is_notified = true;
		}
		(void)poll(polls, (nfds_t)calls_polls(server, polls, MCP_POLLS_MAX), 50);
		calls_turn(server);
	}
	while (server->calls) {
		struct call *call = server->calls;

		server->calls = call->next;
		log_end(call);
		call_free(call);
	}
	server->waiting = 0;
	spare_end(server);
	policy_keeper_close(&server->keeper);
	zygote_pool_close(&server->zygote_pool);
}
