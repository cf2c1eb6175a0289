/* The child that performs one call of a tool. */
#include "front/mcp/call_child.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/parent_end.h"
#include "front/mcp/answer.h"
#include "front/mcp/consent.h"
#include "front/mcp/log.h"
#include "front/mcp/resources.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <string.h>
#include <unistd.h>

/*
 * Where the report goes. A number, because what shows progress is handed no more than words; above those that commands
 * are given, and closed on exec.
 */
#define REPORT_FD 9
/* The way to the server's zygotes. */
#define NURSERY_FD 10

static void write_frame(char kind, const char *bytes, size_t len)
{
	char head[CALL_FRAME_HEAD] = { kind };
	uint32_t size = (uint32_t)len;

	memcpy(head + 1, &size, sizeof(size));
	/* Should the server be gone, so is whoever would read this. */
	if (fd_write_all(REPORT_FD, head, sizeof(head)) == 0)
		(void)fd_write_all(REPORT_FD, bytes, len);
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
static int settle(const sigset_t *mask, int input_fd, int report_fd, int nursery_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int kept[] = { 0, 1, 2, REPORT_FD, NURSERY_FD };

	if (null_fd < 0 || dup2(input_fd >= 0 ? input_fd : null_fd, STDIN_FILENO) < 0 ||
	    dup2(null_fd, STDOUT_FILENO) < 0)
		return -1;
	/* Out of the way of the number that the report gets. */
	nursery_fd = fcntl(nursery_fd, F_DUPFD_CLOEXEC, NURSERY_FD + 1);
	if (report_fd != REPORT_FD && dup3(report_fd, REPORT_FD, O_CLOEXEC) < 0)
		return -1;
	if (nursery_fd < 0 || dup3(nursery_fd, NURSERY_FD, O_CLOEXEC) < 0)
		return -1;
	fd_close_others(kept, sizeof(kept) / sizeof(kept[0]));
	(void)signal(SIGPIPE, SIG_DFL);
	return sigprocmask(SIG_SETMASK, mask, NULL);
}

static void perform(struct call *call)
{
	owned(str_done) struct str out = STR_INIT, question = STR_INIT;
	struct error err = { .code = ERROR_NONE };

	if (call->resource) {
		bool good = resource_write(call, &out);

		write_frame(good ? CALL_FRAME_ANSWER : CALL_FRAME_FAILURE, out.data, out.len);
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
	write_frame(CALL_FRAME_ANSWER, out.data, out.len);
}

_Noreturn void call_child(struct call *call, const sigset_t *mask, int input_fd, int report_fd)
{
	/* Killed without a word, the server takes its calls along. */
	parent_end_follow(call->session->server->pid, SIGKILL);
	if (settle(mask, input_fd, report_fd, call->session->server->nursery.run_fd) < 0)
		_exit(1);
	call->work.call.nursery_fd = NURSERY_FD;
	perform(call);
	_exit(0);
}

/* Of a program, not of a sanitizer's books. */
#define WARM_MAX (4ul << 20)

/*
 * A copied process is given each page again when it runs over it or writes to it: better now than when somebody waits.
 * Where the kernel cannot, it comes as it always did.
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

/* Waits for the order and reads what it says; false when the server wants nothing any more. */
static bool take_order(struct call_order *ret_order, struct rpc_message *ret_message)
{
	owned(str_done) struct str bytes = STR_INIT;
	struct rpc_fault fault;

	if (fd_read_all(STDIN_FILENO, sizeof(*ret_order) + SPARE_REQUEST_MAX, &bytes) < 0 ||
	    bytes.len <= sizeof(*ret_order))
		return false;
	memcpy(ret_order, bytes.data, sizeof(*ret_order));
	return dup2(STDOUT_FILENO, STDIN_FILENO) >= 0 &&
	       rpc_read(bytes.data + sizeof(*ret_order), bytes.len - sizeof(*ret_order),
			ret_message, &fault) == 0;
}

_Noreturn void call_child_ahead(struct server *server, int order_fd, int report_fd)
{
	struct session session = { .server = server };
	struct call call = { .session = &session };
	struct rpc_message message;
	struct call_order order;
	struct error err;
	char name[16] = "";

	parent_end_follow(server->pid, SIGKILL);
	/* Nobody who looks is to take it for a call that goes on and on. */
	(void)prctl(PR_GET_NAME, name);
	(void)prctl(PR_SET_NAME, SPARE_NAME);
	if (settle(&server->child_mask, order_fd, report_fd, server->nursery.run_fd) < 0)
		_exit(1);
	warm_up();
	if (!take_order(&order, &message))
		_exit(1);
	(void)prctl(PR_SET_NAME, name);
	call.version = order.version;
	call.log_level = order.log_level;
	call.progress_token = order.shows_progress ? value_new_bool(true) : NULL;
	tool_call_init(&call.work, order.tool, &server->ceiling, server->environ);
	if (tool_call_read(&call.work, value_get(message.params, "arguments"), &err) < 0)
		_exit(1);
	call.work.call.nursery_fd = NURSERY_FD;
	perform(&call);
	_exit(0);
}
