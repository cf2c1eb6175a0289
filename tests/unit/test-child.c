/* SPDX-License-Identifier: Apache-2.0 */
/* Children: their channels, their ends, and waiting for them no longer than allowed. */
#include "base/process/child.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child with this link and its parent can say to each other. */
static void test_link(enum child_link link, bool child_writes, bool parent_writes, const char *what)
{
	struct error err;
	char byte = '?';
	int fd = -1;
	pid_t pid = child_fork(link, 0, &fd, &err);

	if (pid == 0) {
		bool is_good = !parent_writes || (read(fd, &byte, 1) == 1 && byte == 'p');

		_exit(is_good && (!child_writes || write(fd, "c", 1) == 1) ? 7 : 1);
	}
	bool is_good = !parent_writes || write(fd, "p", 1) == 1;

	is_good = is_good && (!child_writes || (read(fd, &byte, 1) == 1 && byte == 'c'));
	/* The child's end is not open here as well: with the child it ends. */
	tap_ok(is_good && (!child_writes || read(fd, &byte, 1) == 0), "%s", what);
	close(fd);
	tap_is_int(child_exit_code(child_wait(pid)), 7, "its exit code");
}

static void test_refused(void)
{
	struct rlimit files, few;
	struct error err;
	int fd = -5;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	few = files;
	few.rlim_cur = 3;
	(void)setrlimit(RLIMIT_NOFILE, &few);
	tap_ok(child_fork(CHILD_WRITES, 0, &fd, &err) < 0 && fd == -5 && err.errnum == EMFILE,
	       "no channel, no child");
	(void)setrlimit(RLIMIT_NOFILE, &files);
	tap_ok(child_wait(0) == -1 && !WIFEXITED(-1) && !WIFSIGNALED(-1),
	       "no child, no status, and neither of the two ends");
}

/* A child whose own child must not outlive it: its end closes the last copy of FD. */
static void test_end_signal(void)
{
	struct error err;
	char byte;
	int fd, ignored;
	pid_t pid = child_fork(CHILD_WRITES, 0, &fd, &err);

	if (pid == 0) {
		pid = child_fork(CHILD_WRITES, SIGKILL, &ignored, &err);
		if (pid == 0) {
			(void)!write(fd, "x", 1);
			(void)pause();
		}
		(void)pause();
	}
	tap_ok(read(fd, &byte, 1) == 1, "a grandchild is there");
	child_end(pid);
	tap_ok(read(fd, &byte, 1) == 0, "and ends with its parent");
	close(fd);
}

static void test_within(void)
{
	struct error err;
	char byte;
	int fd, status;
	pid_t pid = child_fork(CHILD_WRITES, 0, &fd, &err);

	if (pid == 0)
		_exit(3);
	close(fd);
	tap_ok(child_wait_within(pid, 60000, &status) && child_exit_code(status) == 3,
	       "one that ends in time");
	pid = child_fork(CHILD_WRITES, 0, &fd, &err);
	if (pid == 0) {
		(void)setpgid(0, 0);
		if (fork() >= 0) {
			(void)!write(fd, "x", 1);
			(void)pause();
		}
	}
	tap_ok(read(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1, "two of one group");
	tap_ok(!child_wait_within(pid, 1, &status) && child_exit_code(status) == 128 + SIGKILL,
	       "one that does not is killed");
	tap_ok(read(fd, &byte, 1) == 0, "and its group");
	close(fd);
}

static void test_exec(void)
{
	char *words[] = { (char[]){ "sh" }, (char[]){ "-c" },
			  (char[]){ "echo \"$X $(pwd)\"; kill -XFSZ $$" }, NULL };
	char *const environment[] = { (char[]){ "X=value" }, NULL };
	int ends[2];
	struct error err;
	char text[64] = "";

	tap_ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe");
	(void)signal(SIGXFSZ, SIG_IGN);
	struct child_exec exec = {
		words, environment, "/", { STDIN_FILENO, ends[1], STDERR_FILENO }
	};
	pid_t pid = child_exec(&exec, &err);

	close(ends[1]);
	tap_ok(read(ends[0], text, sizeof(text) - 1) > 0 && strcmp(text, "value /\n") == 0,
	       "environment, directory and stream");
	tap_is_int(child_exit_code(child_wait(pid)), 128 + SIGXFSZ, "a signal that we ignore");
	words[0] = (char[]){ "/nonexistent/program" };
	exec.streams[1] = STDOUT_FILENO;
	tap_ok(child_exec(&exec, &err) < 0 && err.errnum == ENOENT &&
		       strstr(err.text, "/nonexistent/program"),
	       "one that does not exist is named");
	close(ends[0]);
}

static void test_wait(void)
{
	int ends[2];

	tap_ok(pipe2(ends, O_CLOEXEC) == 0, "a pipe");
	tap_ok(fd_wait(ends[0], POLLIN, 0) == 0 && fd_wait(-1, POLLIN, 0) == 0 &&
		       fd_wait_until(ends[0], POLLIN, clock_now_ns() + 1000) == 0,
	       "nothing to read");
	tap_ok(write(ends[1], "x", 1) == 1 && fd_wait(ends[0], POLLIN, -1) == POLLIN &&
		       fd_wait_until(ends[0], POLLIN, 0) == POLLIN,
	       "something to read, also when it is late");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	test_link(CHILD_WRITES, true, false, "a child that writes");
	test_link(CHILD_READS, false, true, "a child that reads");
	test_link(CHILD_TALKS, true, true, "a child that talks");
	test_link(CHILD_STREAMS, true, true, "a child with a stream");
	test_refused();
	test_end_signal();
	test_within();
	test_exec();
	test_wait();
	return tap_done();
}
