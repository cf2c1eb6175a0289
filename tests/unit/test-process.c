/* SPDX-License-Identifier: Apache-2.0 */
/* Ending a process by its number: that one, and nobody else. */
#include "base/process/process.h"

#include "tests/tap.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_can_go_on(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	tap_ok(process_can_go_on(pid), "a child that waits can go on");
	(void)kill(pid, SIGSTOP);
	(void)waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT);
	tap_ok(!process_can_go_on(pid) && !process_can_go_on(pid),
	       "one that is halted cannot, also when asked again");
	(void)kill(pid, SIGKILL);
	(void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	tap_ok(!process_can_go_on(pid), "nor one that has ended");
	(void)waitpid(pid, NULL, 0);
	tap_ok(!process_can_go_on(pid), "nor one that is no child any more");
}

static void test_used(void)
{
	const struct rusage usage = { .ru_utime = { .tv_sec = 2, .tv_usec = 600000 },
				      .ru_stime = { .tv_sec = 1, .tv_usec = 400001 },
				      .ru_maxrss = 5 };
	struct process_used used = process_used_of(&usage);

	tap_is_int((long long)used.cpu_us, 4000001, "both kinds of time");
	tap_is_int((long long)used.peak_memory_bytes, 5 * 1024, "memory in bytes");
	tap_is_int((long long)sizeof(used), 16, "of one size everywhere");
}

int main(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	uint64_t began = process_began(pid);

	tap_ok(began > 0 && process_began(0) == 0, "when it began");
	tap_ok(!process_kill(pid, began + 1, false) && waitpid(pid, &status, WNOHANG) == 0,
	       "a number that is another's by now is left alone");
	tap_ok(!process_kill(pid, 0, false) && !process_kill(0, began, false) &&
		       waitpid(pid, &status, WNOHANG) == 0,
	       "nothing is known of one without a beginning");
	tap_ok(!process_kill(pid, began, true) && waitpid(pid, &status, WNOHANG) == 0,
	       "one that can still answer is left alone, when that is asked for");
	(void)kill(pid, SIGSTOP);
	(void)waitpid(pid, &status, WUNTRACED);
	tap_ok(!process_wait_end(pid, began, 0) && process_wait_end(pid, began + 1, 0),
	       "it is there, and who had its number before is not");
	tap_ok(process_kill(pid, began, true) && process_wait_end(pid, began, -1),
	       "one that is halted is ended");
	tap_ok(!process_kill(pid, began, false), "that nobody waited for it is no life");
	tap_ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		       WTERMSIG(status) == SIGKILL,
	       "by force");
	tap_ok(!process_kill(pid, began, false), "and is gone then");
	test_can_go_on();
	test_used();
	return tap_done();
}
