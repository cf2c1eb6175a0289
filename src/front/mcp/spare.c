/* SPDX-License-Identifier: Apache-2.0 */
/* Children that wait for the call they will perform. */
#include "front/mcp/spare.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "front/mcp/call_child.h"
#include "front/mcp/server.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void forget(struct spare *spare)
{
	fd_close(&spare->pid_fd);
	fd_close(&spare->order_fd);
	fd_close(&spare->report_fd);
	spare->pid = 0;
}

/* Killed: a stopped child would not see the socket close, and a spare one has nothing to lose. */
static void put_away(struct spare *spare)
{
	pid_t pid = spare->pid;

	(void)child_signal(spare->pid_fd, SIGKILL);
	forget(spare);
	(void)child_wait(pid);
}

/* It may have been killed or stopped from outside: a call given to it would never begin. */
static bool is_there(struct spare *spare)
{
	if (spare->pid && !process_can_go_on(spare->pid))
		put_away(spare);
	return spare->pid != 0;
}

bool spare_is_due(struct server *server)
{
	return server->spares.is_wanted && !server->is_ending && !is_there(&server->spares.fresh);
}

void spare_prepare(struct server *server)
{
	struct spare *spare = &server->spares.fresh;
	int order[2], report_fd = -1;
	struct error ignored;

	if (!spare_is_due(server) || pipe2(order, O_CLOEXEC) < 0)
		return;
	(void)fcntl(order[1], F_SETFL, O_NONBLOCK);
	policy_keeper_look(&server->keeper);
	pid_t pid = child_fork(CHILD_WRITES, 0, &report_fd, &ignored);

	if (pid == 0)
		call_child_ahead(server, order[0], report_fd);
	close(order[0]);
	*spare = (struct spare){ .pid = pid > 0 ? pid : 0,
				 .pid_fd = pid > 0 ? child_open(pid) : -1,
				 .order_fd = order[1],
				 .report_fd = report_fd };
	/* The limit of processes is reached; the next call tries again, and reports it. */
	server->spares.is_wanted = pid > 0;
	if (pid < 0)
		forget(spare);
}

static bool hand_over(const struct spare *spare, const struct call *call)
{
	owned(str_done) struct str bytes = STR_INIT;
	struct call_order order;

	memset(&order, 0, sizeof(order));
	order.tool = call->work.tool;
	order.version = call->version;
	order.log_level = call->log_level;
	order.shows_progress = call->progress_token != NULL;
	order.len = call->request.len;
	str_add_bytes(&bytes, &order, sizeof(order));
	str_add_bytes(&bytes, call->request.data, call->request.len);
	/* An empty pipe takes all of it at once; one that is smaller than most is not waited for. */
	return write(spare->order_fd, bytes.data, bytes.len) == (ssize_t)bytes.len;
}

static bool give(struct spare *spare, struct call *call)
{
	if (!is_there(spare))
		return false;
	if (!hand_over(spare, call)) {
		put_away(spare);
		return false;
	}
	call->pid = spare->pid;
	call->pid_fd = fd_take(&spare->pid_fd);
	call->order_fd = fd_take(&spare->order_fd);
	call->report_fd = fd_take(&spare->report_fd);
	forget(spare);
	return true;
}

bool spare_take(struct server *server, struct call *call)
{
	struct spares *spares = &server->spares;
	bool is_tidy = call->work.tool->flags & TOOL_TIDY;

	spares->is_wanted = true;
	if (call->request.len == 0 || call->work.has_input)
		return false;
	/* One that can be had back is left to calls that give it back. */
	return give(is_tidy ? &spares->used : &spares->fresh, call) ||
	       give(is_tidy ? &spares->fresh : &spares->used, call);
}

bool spare_return(struct server *server, struct call *call)
{
	struct spare *used = &server->spares.used;

	/* A signal may be on its way to the child of a call that was cancelled; words behind its last one are none of ours. */
	if (!call->is_answered || call->is_cancelled || server->is_ending || call->report.len > 0 ||
	    call->report_fd < 0 || is_there(used)) {
		fd_close(&call->order_fd);
		return false;
	}
	*used = (struct spare){ .pid = call->pid,
				.pid_fd = fd_take(&call->pid_fd),
				.order_fd = fd_take(&call->order_fd),
				.report_fd = fd_take(&call->report_fd) };
	call->pid = 0;
	return true;
}

void spare_end(struct server *server)
{
	if (server->spares.fresh.pid)
		put_away(&server->spares.fresh);
	if (server->spares.used.pid)
		put_away(&server->spares.used);
}
