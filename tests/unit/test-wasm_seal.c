/* SPDX-License-Identifier: Apache-2.0 */
/* What the runner of WebAssembly modules cannot do any more once it is sealed, and its runs once they are. */
#include "driver/wasm/runner.h"
#include "tests/unit/sealed.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

static int try_trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0;
}

static int try_new_fork(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : 0;
}

static int try_limit(void)
{
	struct rlimit limit;

	return prlimit(getppid(), RLIMIT_CORE, NULL, &limit) < 0 ? errno : 0;
}

static void *nothing(void *cookie)
{
	return cookie;
}

static int try_thread(void)
{
	pthread_t thread;
	int failed = pthread_create(&thread, NULL, nothing, NULL);

	return failed ? failed : pthread_join(thread, NULL);
}

int main(void)
{
	static const struct sealed_attempt of_all[] = {
		{ "executing a program", try_exec, EPERM },
		{ "a socket", try_socket, EPERM },
		{ "tracing", try_trace, EPERM },
		{ "a process, for a run", try_fork, 0 },
	};
	static const struct sealed_attempt of_runs[] = {
		{ "a process, by a run", try_fork, EPERM },
		{ "the same by the newer call", try_new_fork, ENOSYS },
		{ "a signal to another", try_signal, EPERM },
		{ "another's limits", try_limit, EPERM },
		{ "a thread", try_thread, 0 },
	};

	sealed_try(runner_lockdown, of_all, sizeof(of_all) / sizeof(of_all[0]));
	sealed_try(runner_lockdown_run, of_runs, sizeof(of_runs) / sizeof(of_runs[0]));
	return tap_done();
}
