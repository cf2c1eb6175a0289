/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's helper processes: what they are given, that they are started anew, and that they end with the daemon. */
#include "app/pool/daemon_children.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define NOT_THERE (1 << 29)

struct news {
	int pid, read;
	bool has_more, is_deaf;
};

/* The helper: writes what it was given to its descriptor 3, and waits to be ended. */
static int be_helper(void)
{
	sigset_t mask;
	char byte;
	struct news news = { .pid = getpid(), .read = (int)read(STDIN_FILENO, &byte, 1) };

	for (int fd = 4; fd < 64; fd++)
		news.has_more |= fcntl(fd, F_GETFD) >= 0;
	(void)sigprocmask(SIG_SETMASK, NULL, &mask);
	news.is_deaf = sigismember(&mask, SIGTERM);
	return write(3, &news, sizeof(news)) == sizeof(news) ? pause() : 1;
}

static bool hear(int fd, struct news *ret_news)
{
	return fd_wait(fd, POLLIN, PATIENCE_MS) > 0 &&
	       read(fd, ret_news, sizeof(*ret_news)) == sizeof(*ret_news);
}

static void check_restart(struct helpers *helpers, int fd)
{
	struct helper *row = &helpers->rows[0];
	struct news news = { 0 };

	tap_ok(helpers_tend(helpers) == -1 && hear(fd, &news), "it is started");
	tap_ok(news.read == 0 && !news.has_more && !news.is_deaf,
	       "it has its own descriptor only, nothing to read, and hears signals");
	tap_ok(news.pid == row->pid, "it is the one of the row");
	child_end(news.pid);
	helpers_ended(helpers, NOT_THERE, false);
	tap_ok(row->pid == news.pid, "the end of another process is not its end");
	helpers_ended(helpers, news.pid, false);
	int pause_ms = helpers_tend(helpers);

	tap_ok(row->pid == 0 && pause_ms > 0 && pause_ms <= 101, "the next start waits: %d ms",
	       pause_ms);
	for (int i = 0; i < 40; i++) {
		row->pid = NOT_THERE;
		helpers_ended(helpers, NOT_THERE, false);
	}
	pause_ms = helpers_tend(helpers);
	tap_ok(pause_ms > 25000 && pause_ms <= 30001, "the pause grows to a bound: %d ms",
	       pause_ms);
	row->due_ns = 0;
	tap_ok(helpers_tend(helpers) == -1 && hear(fd, &news) && row->starts == 2, "and is made");
}

/* A daemon that is killed takes its helper with it: the last holder of the socket is gone. */
static void check_killed(const struct helper *row, int fd)
{
	struct helpers helpers = { 0 };
	struct news news = { 0 };
	struct error err;
	pid_t pid = child_fork(CHILD_ALONE, SIGKILL, NULL, &err);

	if (pid == 0) {
		helpers_add(&helpers, row);
		(void)helpers_tend(&helpers);
		_exit(pause());
	}
	(void)close(row->fds[0]);
	tap_ok(hear(fd, &news), "a daemon's helper runs");
	child_end(pid);
	tap_ok(fd_wait(fd, POLLIN, PATIENCE_MS) > 0 && read(fd, &news, 1) == 0,
	       "and ends with a daemon that is killed");
}

int main(int argc, char **argv)
{
	struct helpers helpers = { 0 };
	struct helper row = { .name = "test",
			      .words = { "test-daemon_children", "helper" },
			      .fd_count = 1 };
	struct news news = { 0 };
	int ends[2];

	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return be_helper();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	row.fds[0] = ends[1];
	helpers_add(&helpers, &row);
	check_restart(&helpers, ends[0]);
	helpers_done(&helpers);
	tap_ok(read(ends[0], &news, 1) == 0, "it ends with the table, and so do its descriptors");
	(void)close(ends[0]);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	row.fds[0] = ends[1];
	check_killed(&row, ends[0]);
	(void)close(ends[0]);
	return tap_done();
}
