/* SPDX-License-Identifier: Apache-2.0 */
/* The child that performs a call of a tool, or one after another. */
#include "front/mcp/call_child.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "front/mcp/answer.h"
#include "front/mcp/consent.h"
#include "front/mcp/log.h"
#include "front/mcp/resources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <string.h>
#include <unistd.h>

/*
 * Where the report goes. A number, because what shows progress is handed no more than words; above those that commands
 * are given, and closed on exec.
 */
#define REPORT_FD 9
/* The way to the server's zygotes. */
#define ZYGOTE_POOL_FD 10
/* Where calls come from, to one that waits for them. */
#define ORDER_FD 11
/* The way to the server's evaluator of policies, where it keeps one. */
#define POLICY_FD 12

static void add_frame(struct str *frames, char kind, const char *bytes, size_t len)
{
	uint32_t size = (uint32_t)len;

	str_add_char(frames, kind);
	str_add_bytes(frames, &size, sizeof(size));
	str_add_bytes(frames, bytes, len);
}

static void write_frame(char kind, const char *bytes, size_t len)
{
	owned(str_done) struct str frames = STR_INIT;

	add_frame(&frames, kind, bytes, len);
	/* Without the server there is no reader. */
	(void)fd_write_all(REPORT_FD, frames.data, frames.len);
}

static void write_log(const struct str *message)
{
	write_frame(CALL_FRAME_LOG, message->data, message->len);
}

static void show_progress(const char *what)
{
	if (what)
		write_frame(CALL_FRAME_PROGRESS, what, strlen(what));
}

/* Neither the server's streams nor its descriptors or signals are the operation's. */
static int settle(const struct server *server, int input_fd, int report_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int zygote_pool_fd = server->zygote_pool.run_fd, policy_fd = server->keeper.ask_fd;
	const int kept[] = { 0, 1, 2, REPORT_FD, ZYGOTE_POOL_FD, POLICY_FD };

	if (null_fd < 0 || dup2(input_fd >= 0 ? input_fd : null_fd, STDIN_FILENO) < 0 ||
	    dup2(null_fd, STDOUT_FILENO) < 0)
		return -1;
	/* Out of the way of the numbers that others get. */
	zygote_pool_fd = fcntl(zygote_pool_fd, F_DUPFD_CLOEXEC, POLICY_FD + 1);
	if (policy_fd > 0)
		policy_fd = fcntl(policy_fd, F_DUPFD_CLOEXEC, POLICY_FD + 1);
	if (report_fd != REPORT_FD && dup3(report_fd, REPORT_FD, O_CLOEXEC) < 0)
		return -1;
	if (zygote_pool_fd < 0 || dup3(zygote_pool_fd, ZYGOTE_POOL_FD, O_CLOEXEC) < 0)
		return -1;
	/* Without it, each question starts an evaluator. */
	if (policy_fd <= 0 || dup3(policy_fd, POLICY_FD, O_CLOEXEC) < 0)
		(void)close(POLICY_FD);
	fd_close_others(kept, sizeof(kept) / sizeof(kept[0]));
	(void)signal(SIGPIPE, SIG_DFL);
	return sigprocmask(SIG_SETMASK, &server->child_mask, NULL);
}

/* What the server keeps for its calls. */
static void hand_in(struct call *call)
{
	call->work.call.zygote_pool_fd = ZYGOTE_POOL_FD;
	if (call->session->server->keeper.ask_fd > 0)
		call->work.call.policy_fd = POLICY_FD;
}

/* What the call has to say in the end, as a frame. */
static void perform(struct call *call, struct str *frames)
{
	owned(str_done) struct str out = STR_INIT, question = STR_INIT;
	struct error err = { .code = ERROR_NONE };

	if (call->resource) {
		bool good = resource_write(call, &out);

		add_frame(frames, good ? CALL_FRAME_ANSWER : CALL_FRAME_FAILURE, out.data, out.len);
		return;
	}
	if (call->progress_token)
		call->work.call.progress = show_progress;
	int status = tool_call_perform(&call->work, &err);

	if (call->log_level < MCP_QUIET)
		log_call(&call->work, status, &err, write_log);
	if (status == 0 && call->work.tool->flags & TOOL_ASKS &&
	    consent_needed(&call->work, call->session->server->policy, &question))
		write_frame(CALL_FRAME_QUESTION, question.data, question.len);
	answer_write(&call->work, status, &err, call->version, &out);
	add_frame(frames, status < 0 ? CALL_FRAME_REFUSAL : CALL_FRAME_ANSWER, out.data, out.len);
}

_Noreturn void call_child(struct call *call, int input_fd, int report_fd)
{
	const struct server *server = call->session->server;
	struct str frames = STR_INIT;

	/* Killed without a word, the server takes its calls along. */
	parent_end_follow(server->pid, SIGKILL);
	if (settle(server, input_fd, report_fd) < 0)
		_exit(1);
	hand_in(call);
	perform(call, &frames);
	(void)fd_write_all(REPORT_FD, frames.data, frames.len);
	_exit(0);
}

/* Of a program, not of a sanitizer's books. */
#define WARM_MAX (4ul << 20)

/*
 * A forked process takes a fault for each page it runs over or writes to: take them now, not while a client waits.
 * Where the kernel cannot, they are taken later.
 */
static void warm_up(void)
{
	owned(str_done) struct str maps = STR_INIT;
	struct error ignored;

	if (file_read(AT_FDCWD, "/proc/self/maps", 1 << 20, &maps, &ignored) < 0)
		return;
	for (const char *line = str_cstr(&maps), *next; *line; line = next) {
		unsigned long from, to;
		char rights[5];

		next = line + strcspn(line, "\n");
		next += *next == '\n';
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || to - from > WARM_MAX)
			continue;
		if (rights[1] == 'w' && rights[3] == 'p')
			(void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
		else if (rights[2] == 'x')
			(void)madvise((void *)from, to - from, MADV_POPULATE_READ);
	}
}

/* Waits for a request and reads it; false when the server has closed the socket. */
static bool take_order(struct call_order *ret_order, struct rpc_message *ret_message)
{
	char bytes[sizeof(*ret_order) + SPARE_REQUEST_MAX];
	struct rpc_fault fault;
	size_t len = 0, whole = sizeof(*ret_order);

	while (len < whole) {
		ssize_t got = read(ORDER_FD, bytes + len, sizeof(bytes) - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		len += (size_t)got;
		if (len < sizeof(*ret_order))
			continue;
		memcpy(ret_order, bytes, sizeof(*ret_order));
		if (ret_order->len > SPARE_REQUEST_MAX)
			return false;
		whole = sizeof(*ret_order) + ret_order->len;
	}
	return rpc_read(bytes + sizeof(*ret_order), ret_order->len, ret_message, &fault) == 0;
}

/* Leave nothing of the previous call: close its descriptors and reap its children. */
static bool is_fit(const struct call *call)
{
	const int kept[] = { 0, 1, 2, REPORT_FD, ZYGOTE_POOL_FD, ORDER_FD, POLICY_FD };
	siginfo_t info;

	if (!call->work.call.is_unused ||
	    waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
		return false;
	fd_close_others(kept, sizeof(kept) / sizeof(kept[0]));
	return true;
}

/* One call; false when it was the last. */
static bool perform_next(struct session *session, const char *name, bool is_last)
{
	owned(str_done) struct str frames = STR_INIT;
	struct call call = { .session = session };
	struct rpc_message message;
	struct call_order order = { 0 };
	struct error err;

	if (!take_order(&order, &message))
		return false;
	(void)prctl(PR_SET_NAME, name);
	call.version = order.version;
	call.log_level = order.log_level;
	call.progress_token = order.shows_progress ? value_new_bool(true) : NULL;
	tool_call_init(&call.work, order.tool, &session->server->ceiling, session->server->environ);
	if (tool_call_read(&call.work, value_get(message.params, "arguments"), &err) < 0)
		return false;
	hand_in(&call);
	perform(&call, &frames);
	is_last = is_last || !is_fit(&call);
	if (!is_last) {
		tool_call_done(&call.work);
		value_free(call.progress_token);
		rpc_message_done(&message);
		(void)prctl(PR_SET_NAME, SPARE_NAME);
		add_frame(&frames, CALL_FRAME_NEXT, "", 0);
	}
	(void)fd_write_all(REPORT_FD, frames.data, frames.len);
	return !is_last;
}

_Noreturn void call_child_ahead(struct server *server, int order_fd, int report_fd)
{
	struct session session = { .server = server };
	char name[16] = "";
	unsigned count = 1;

	parent_end_follow(server->pid, SIGKILL);
	/* In a list of processes it must not look like a call that never ends. */
	(void)prctl(PR_GET_NAME, name);
	(void)prctl(PR_SET_NAME, SPARE_NAME);
	if (settle(server, order_fd, report_fd) < 0 ||
	    dup3(STDIN_FILENO, ORDER_FD, O_CLOEXEC) < 0 || dup2(STDOUT_FILENO, STDIN_FILENO) < 0)
		_exit(1);
	warm_up();
	while (perform_next(&session, name, count == SPARE_CALLS_MAX))
		count++;
	_exit(0);
}
