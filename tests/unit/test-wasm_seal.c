/* What the runner of WebAssembly modules cannot do any more once it is sealed. */
#include "driver/wasm/runner.h"
#include "tests/tap.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_exec(void)
{
	char *const words[] = { (char[]){ "true" }, NULL };

	execv("/bin/true", words);
	return errno;
}

static int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

static int try_trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0;
}

/* The error's number in a process of its own, 0 when it worked. */
static int in_child(int (*attempt)(void), bool sealed)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(sealed && runner_seal() < 0 ? 255 : attempt());
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	static const struct {
		const char *name;
		int (*attempt)(void);
	} rows[] = { { "executing a program", try_exec },
		     { "a socket", try_socket },
		     { "tracing", try_trace } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_ok(in_child(rows[i].attempt, false) == 0, "control: %s", rows[i].name);
		tap_ok(in_child(rows[i].attempt, true) == EPERM, "sealed: %s", rows[i].name);
	}
	return tap_done();
}
