/* SPDX-License-Identifier: Apache-2.0 */
/* One client on standard input and output: newline-delimited messages, nothing else. */
#include "front/mcp/stdio.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "front/rpc/lines.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* As long as a client reads so slowly, it is not listened to, and no call is looked after. */
#define OUT_MAX ((size_t)8 << 20)
/* For calls whose client has closed stdin, and may still read. */
#define GRACE_MS 1000

struct stdio {
	struct channel channel;
	struct server *server;
	struct session session;
	struct rpc_lines lines;
	struct str out;
	size_t out_at;
	int signal_fd;
	bool has_lines; /* lines were read that are not handled yet */
	bool is_gone;	/* stdout has no reader */
};

static bool is_behind(const struct stdio *stdio)
{
	return stdio->out.len - stdio->out_at > OUT_MAX;
}

static bool send_line(struct channel *channel, const struct str *message, bool is_last)
{
	struct stdio *stdio = (struct stdio *)channel;

	(void)is_last;
	if (stdio->is_gone)
		return false;
	str_add_bytes(&stdio->out, message->data, message->len);
	str_add_char(&stdio->out, '\n');
	return true;
}

/* As much as fits now. A pipe that polls writable takes PIPE_BUF bytes without blocking. */
static void flush(struct stdio *stdio)
{
	size_t left = stdio->out.len - stdio->out_at;
	const char *from = stdio->out.data + stdio->out_at;
	ssize_t put = send(STDOUT_FILENO, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0 && errno == ENOTSOCK)
		put = write(STDOUT_FILENO, from, left < PIPE_BUF ? left : PIPE_BUF);
	if (put < 0) {
		stdio->is_gone = errno != EAGAIN && errno != EINTR;
		return;
	}
	str_pass(&stdio->out, &stdio->out_at, (size_t)put);
}

static void take_lines(struct stdio *stdio)
{
	const char *line;
	size_t len;

	/* A short question may have a long answer: it is asked how much waits before each. */
	for (stdio->has_lines = true; !is_behind(stdio);) {
		enum rpc_line kind = rpc_lines_next(&stdio->lines, RPC_MESSAGE_MAX, &line, &len);

		if (kind == RPC_LINE_NONE) {
			stdio->has_lines = false;
			return;
		}
		if (kind == RPC_LINE_TOO_LONG)
			session_refuse(&stdio->channel, RPC_INVALID_REQUEST,
				       "the message is larger than 4 MiB");
		else
			session_receive(&stdio->session, &stdio->channel, line, len);
	}
}

/* False at the end of input. */
static bool read_input(struct stdio *stdio)
{
	char buffer[65536];
	ssize_t got = read(STDIN_FILENO, buffer, sizeof(buffer));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got <= 0)
		return false;
	rpc_lines_add(&stdio->lines, buffer, (size_t)got);
	take_lines(stdio);
	return true;
}

/* False at the end: the client is gone, or a signal asks the server to end. */
static bool turn(struct stdio *stdio)
{
	struct pollfd polls[3 + MCP_POLLS_MAX];
	size_t count = 3;
	bool is_late, is_quiet;
	int found;

	if (stdio->has_lines)
		take_lines(stdio);
	is_late = is_behind(stdio);
	polls[0] = (struct pollfd){ .fd = is_late ? -1 : STDIN_FILENO, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = STDOUT_FILENO,
				    .events = stdio->out.len > stdio->out_at ? POLLOUT : 0 };
	polls[2] = (struct pollfd){ .fd = stdio->signal_fd, .events = POLLIN };
	if (!is_late)
		count += calls_polls(stdio->server, polls + 3, MCP_POLLS_MAX);
	/* Idle: prepare what the next call would have to wait for. */
	is_quiet = stdio->server->running == 0 && stdio->out.len == stdio->out_at &&
		   spare_is_due(stdio->server);
	found = poll(polls, (nfds_t)count,
		     is_quiet ? SPARE_QUIET_MS : calls_timeout(stdio->server));
	if (found < 0)
		return errno == EINTR;
	if (found == 0 && is_quiet)
		spare_prepare(stdio->server);
	if (polls[2].revents || polls[1].revents & (POLLERR | POLLNVAL))
		return false;
	if (polls[0].revents && !read_input(stdio))
		return false;
	if (!is_late)
		calls_turn(stdio->server);
	/* What can be sent goes at once: another turn of the loop is time the client waits. */
	if (stdio->out.len > stdio->out_at)
		flush(stdio);
	return !stdio->is_gone;
}

/* Answers made before the end are still written, as long as there is a reader. */
static void say_the_rest(struct stdio *stdio)
{
	while (!stdio->is_gone && stdio->out.len > stdio->out_at) {
		int ready = fd_wait(STDOUT_FILENO, POLLOUT, GRACE_MS);

		if (ready <= 0 || ready & (POLLERR | POLLNVAL))
			return;
		flush(stdio);
	}
}

int stdio_serve(struct server *server, struct error *err)
{
	struct stdio stdio = { .channel = { .send = send_line },
			       .server = server,
			       .signal_fd = -1 };

	session_init(&stdio.session, server);
	if (server_watch_signals(server, &stdio.signal_fd, err) < 0)
		return -1;
	while (turn(&stdio))
		;
	calls_end(server, stdio.is_gone ? 0 : GRACE_MS);
	say_the_rest(&stdio);
	rpc_lines_done(&stdio.lines);
	str_done(&stdio.out);
	fd_close(&stdio.signal_fd);
	return 0;
}
