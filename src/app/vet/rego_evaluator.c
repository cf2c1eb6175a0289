/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's process: started, kept, talked to, ended. */
#include "app/vet/rego_evaluator.h"

#include "app/vet/rego.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/own_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define HELPER "aisbx-policy"
#define KEEP_WORD "keep"
/* It stops by itself long before; this is for a machine with much else to do, and for one that hangs. */
#define WAIT_MS 10000
/* So long a kept one waits for an asker that is halted in the midst of its question, and others wait with it. */
#define STREAM_S 1
/* Children of its keeper have numbers below this for things of their own. */
#define ASK_FD_MIN 20

/* KIND of socket is what both ends talk through: a stream, or messages to one that is kept. */
static int start(int kind, pid_t *ret_pid, int *ret_fd, struct error *err)
{
	/* Its heap grows in small steps, so that the limit of its address space is one, without pages that are long to clear. */
	char arena[] = "MIMALLOC_ARENA_RESERVE=32MiB", pages[] = "MIMALLOC_ALLOW_THP=0";
	char keep[] = KEEP_WORD, *variables[] = { arena, pages, NULL };
	owned(free_ptr) char *path = own_program(HELPER);
	owned(fd_close) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char *words[] = { path, kind == SOCK_SEQPACKET ? keep : NULL, NULL };
	int ends[2];

	if (!path)
		return error_advise(
			err, ERROR_DENIED,
			"install cargo and rustc (Debian: cargo-web, rustc-web), then build and "
			"install aisbx again; or move the policies away",
			"there is a policy, and " HELPER ", which evaluates it, is not installed");
	if (null_fd < 0 || socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "no channel to the evaluator of policies");
	const struct child_exec exec = { .words = words,
					 .environ = variables,
					 .streams = { ends[1], ends[1], null_fd } };

	*ret_pid = child_exec(&exec, err);
	fd_close(&ends[1]);
	if (*ret_pid < 0)
		fd_close(&ends[0]);
	*ret_fd = *ret_pid < 0 ? -1 : ends[0];
	return *ret_pid < 0 ? -1 : 0;
}

/* Answered when DONE bytes went through, or the other end can go on. */
static enum evaluator_said go_on(int fd, ssize_t done, short events, uint64_t until_ns)
{
	if (done > 0)
		return EVALUATOR_ANSWERED;
	if (done == 0 || (errno != EAGAIN && errno != EINTR))
		return EVALUATOR_GONE;
	return fd_wait_until(fd, events, until_ns) > 0 ? EVALUATOR_ANSWERED : EVALUATOR_HANGS;
}

/* One line there, one line back. */
static enum evaluator_said talk(int fd, const struct str *question, struct str *ret_line)
{
	const uint64_t until_ns = clock_now_ns() + WAIT_MS * UINT64_C(1000000);
	enum evaluator_said said;
	char buffer[16384];

	for (size_t at = 0; at < question->len;) {
		ssize_t done = send(fd, question->data + at, question->len - at,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		said = go_on(fd, done, POLLOUT, until_ns);
		if (said != EVALUATOR_ANSWERED)
			return said;
		at += done > 0 ? (size_t)done : 0;
	}
	while (ret_line->len == 0 || ret_line->data[ret_line->len - 1] != '\n') {
		ssize_t done = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);

		said = go_on(fd, done, POLLIN, until_ns);
		if (said != EVALUATOR_ANSWERED)
			return said;
		if (ret_line->len > POLICY_ANSWER_MAX)
			return EVALUATOR_HANGS;
		str_add_bytes(ret_line, buffer, done > 0 ? (size_t)done : 0);
	}
	return EVALUATOR_ANSWERED;
}

int evaluator_ask_new(const struct str *question, struct str *ret_line,
		      enum evaluator_said *ret_said, struct error *err)
{
	owned(fd_close) int fd = -1;
	pid_t pid = -1;

	if (start(SOCK_STREAM, &pid, &fd, err) < 0)
		return -1;
	*ret_said = talk(fd, question, ret_line);
	child_end(pid);
	return 0;
}

enum evaluator_said evaluator_ask_kept(int kept_fd, const struct str *question,
				       struct str *ret_line)
{
	const struct timeval patience = { .tv_sec = STREAM_S };
	enum evaluator_said said;
	int ends[2];

	/* A stream for each question: an asker that is killed in the midst of one leaves nothing for the next. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return EVALUATOR_GONE;
	owned(fd_close) int near_fd = ends[0], far_fd = ends[1];

	if (setsockopt(far_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(far_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    fd_send(kept_fd, "", 1, &far_fd, 1) < 0)
		return EVALUATOR_GONE;
	fd_close(&far_fd);
	said = talk(near_fd, question, ret_line);
	/* No other asker shall wait for it; its keeper sees that and ends it. */
	if (said == EVALUATOR_HANGS)
		(void)shutdown(kept_fd, SHUT_RDWR);
	return said;
}

void policy_keeper_close(struct policy_keeper *keeper)
{
	if (keeper->pid > 0)
		child_end(keeper->pid);
	if (keeper->ask_fd > 0)
		fd_close(&keeper->ask_fd);
	*keeper = (struct policy_keeper){ 0 };
}

void policy_keeper_look(struct policy_keeper *keeper)
{
	struct error ignored;
	int low_fd;

	if (keeper->pid > 0 && fd_wait(keeper->ask_fd, POLLIN, 0) != 0)
		policy_keeper_close(keeper);
	if (keeper->pid > 0 || !policy_may_exist())
		return;
	/* Without one, each question starts its own, and says what is wrong. */
	if (start(SOCK_SEQPACKET, &keeper->pid, &low_fd, &ignored) < 0) {
		*keeper = (struct policy_keeper){ 0 };
		return;
	}
	keeper->ask_fd = fcntl(low_fd, F_DUPFD_CLOEXEC, ASK_FD_MIN);
	close(low_fd);
	if (keeper->ask_fd < 0)
		policy_keeper_close(keeper);
}
