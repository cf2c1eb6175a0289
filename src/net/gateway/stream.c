/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of one direction: from socket to pipe to socket, without being copied. */
#include "net/gateway/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPLICES_PER_ROUND 16
#define PIPE_BYTES (512u << 10)
#define CHUNK (1u << 20)

static bool take_pipe(struct gateway *gateway, struct flow *flow)
{
	if (flow->has_pipe)
		return true;
	if (gateway->pipe_count > 0) {
		flow->pipe = gateway->pipes[--gateway->pipe_count];
	} else {
		if (pipe2(flow->pipe.fds, O_CLOEXEC | O_NONBLOCK) < 0)
			return false;
		/* More at a time where the user may have that much; else as it is. */
		(void)fcntl(flow->pipe.fds[0], F_SETPIPE_SZ, PIPE_BYTES);
	}
	flow->has_pipe = true;
	return true;
}

/* Only an empty one can serve another connection. */
void stream_stop(struct gateway *gateway, struct flow *flow)
{
	if (!flow->has_pipe)
		return;
	flow->has_pipe = false;
	if (flow->held == 0 && gateway->pipe_count < PIPES_KEPT) {
		gateway->pipes[gateway->pipe_count++] = flow->pipe;
		return;
	}
	close(flow->pipe.fds[0]);
	close(flow->pipe.fds[1]);
}

/*
 * Splicing stops in front of an urgent byte, and stays there: it is passed on as such, by hand, with the byte behind it.
 * 1 when there was one, 0 when not, -1 when the other side takes nothing now: rather a reset than bytes that are lost. And
 * where bytes are counted out: whether the other side counts an urgent one is its own choice, and what it takes for the end
 * of a request must be what we do.
 */
static int pass_urgent(struct flow *flow)
{
	char urgent, next;
	ssize_t got;

	if (recv(flow->from->fd, &urgent, 1, MSG_OOB | MSG_DONTWAIT) != 1)
		return 0;
	if (flow->limit ||
	    send(flow->to->fd, &urgent, 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return -1;
	got = recv(flow->from->fd, &next, 1, MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -1;
	flow->has_ended = got == 0;
	if (got == 1 && send(flow->to->fd, &next, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return -1;
	*flow->counter += 1 + (uint64_t)got;
	return 1;
}

/* Splice found nothing, or the end: perhaps something is in its way. 0, or -1 on a reset. */
static int find_nothing(struct flow *flow, bool is_end)
{
	int passed;

	if (!is_end && errno != EAGAIN && errno != EINTR)
		return -1;
	if (!is_end && !flow->is_ready)
		return 0;
	passed = pass_urgent(flow);
	flow->is_ready = false;
	flow->has_ended |= passed == 0 && is_end;
	return passed < 0 ? -1 : 0;
}

/* Fills the pipe when it is empty. 1 when there are bytes to pass on, 0 when not, -1 on a reset. */
static int fill(struct gateway *gateway, struct flow *flow)
{
	size_t most = CHUNK;
	ssize_t got;

	if (flow->held > 0)
		return 1;
	if (flow->has_ended || (flow->limit && *flow->limit == 0))
		return 0;
	if (flow->limit && *flow->limit < most)
		most = (size_t)*flow->limit;
	if (!take_pipe(gateway, flow))
		return -1;
	got = splice(flow->from->fd, NULL, flow->pipe.fds[1], NULL, most,
		     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (got <= 0)
		return find_nothing(flow, got == 0);
	flow->is_ready = false;
	flow->held = (size_t)got;
	if (flow->limit)
		*flow->limit -= (uint64_t)got;
	return 1;
}

/* Moves what can be moved. 0, or -1 on a reset. */
int stream_pump(struct gateway *gateway, struct connection *connection, struct flow *flow)
{
	int filled = 1;

	for (int i = 0; i < SPLICES_PER_ROUND && (filled = fill(gateway, flow)) > 0; i++) {
		ssize_t sent = splice(flow->pipe.fds[0], NULL, flow->to->fd, NULL, flow->held,
				      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (sent <= 0)
			break;
		flow->held -= (size_t)sent;
		*flow->counter += (uint64_t)sent;
		connection->active_ns = gateway->now_ns;
	}
	if (filled < 0)
		return -1;
	if (flow->held == 0)
		stream_stop(gateway, flow);
	if (flow->has_ended && flow->held == 0 && !flow->is_shut) {
		flow->is_shut = true;
		(void)shutdown(flow->to->fd, SHUT_WR);
		connection->active_ns = gateway->now_ns;
	}
	return 0;
}
