/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaisbx: starting the program, feeding and reading it, without a trace in the caller's process.
 *
 * The child gets three descriptors, a fourth with the variables where there are any, and default signals. The caller's
 * thread has SIGPIPE blocked while it feeds, because the program may stop reading at any time; one that our write raised
 * is taken back before the mask is restored. The end is the end of its stdout: the exit status is asked for afterwards,
 * and a caller that collects children itself only costs us that number.
 */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "lib/lib.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Where the program finds the variables. */
#define VARIABLES_FD 3
/* Between TERM, so that it can tidy up, and KILL. */
#define END_MS 5000

void talk_close(struct talk *talk)
{
	fd_close(&talk->input_read);
	fd_close(&talk->input_write);
	fd_close(&talk->output_read);
	fd_close(&talk->output_write);
	fd_close(&talk->pid_fd);
}

void talk_set_limit(struct talk *talk, int64_t limit_ms)
{
	talk->until_ms = clock_now_ns() / 1000000 + (uint64_t)limit_ms;
}

int talk_left_ms(const struct talk *talk)
{
	uint64_t now_ms = clock_now_ns() / 1000000;
	uint64_t left_ms = talk->until_ms > now_ms ? talk->until_ms - now_ms : 0;

	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* A pipe whose ends are above 2 even when the caller runs without standard descriptors. */
static int open_pipe(int *ret_read, int *ret_write)
{
	owned(fd_close) int low_read = -1;
	owned(fd_close) int low_write = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	low_read = ends[0];
	low_write = ends[1];
	*ret_read = low_read > 2 ? fd_take(&low_read) : fcntl(low_read, F_DUPFD_CLOEXEC, 3);
	*ret_write = low_write > 2 ? fd_take(&low_write) : fcntl(low_write, F_DUPFD_CLOEXEC, 3);
	return *ret_read < 0 || *ret_write < 0 ? -1 : 0;
}

static int talk_open(struct talk *talk)
{
	*talk = (struct talk){ .input_read = -1,
			       .input_write = -1,
			       .output_read = -1,
			       .output_write = -1,
			       .pid_fd = -1 };
	if (open_pipe(&talk->input_read, &talk->input_write) < 0 ||
	    open_pipe(&talk->output_read, &talk->output_write) < 0 ||
	    fcntl(talk->input_write, F_SETFL, O_NONBLOCK) < 0) {
		talk_close(talk);
		return -1;
	}
	return 0;
}

void ask_done(struct ask *ask)
{
	strv_done(&ask->words);
	strv_done(&ask->behind);
}

static bool has_variables(const struct ask *ask)
{
	return ask->request && ask->request->variables.count > 0;
}

/*
 * A file in memory with the variables, each ended by its null byte: every user of the machine can read a command line.
 */
static int open_variables(const struct strv *variables)
{
	owned(fd_close) int fd = memfd_create("variables", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < variables->count; i++) {
		if (fd_write_all(fd, variables->items[i], strlen(variables->items[i]) + 1) < 0)
			return -1;
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void build_argv(const struct ask *ask, struct strv *argv)
{
	strv_add(argv, "aisbx");
	strv_add(argv, ask->verb);
	strv_add(argv, "--json");
	if (has_variables(ask))
		strv_addf(argv, "--env-fd=%d", VARIABLES_FD);
	if (ask->request)
		strv_copy(argv, &ask->request->flags);
	strv_copy(argv, &ask->words);
	if (ask->behind.count > 0)
		strv_add(argv, "--");
	strv_copy(argv, &ask->behind);
}

/* Returns an error number. */
static int set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes,
		  const struct talk *talk, int variables_fd)
{
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	failed = posix_spawn_file_actions_adddup2(files, talk->input_read, STDIN_FILENO);
	failed |= posix_spawn_file_actions_adddup2(files, talk->output_write, STDOUT_FILENO);
	/* With --json it speaks on stdout; more would land in the caller's terminal. */
	failed |= posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (variables_fd >= 0)
		failed |= posix_spawn_file_actions_adddup2(files, variables_fd, VARIABLES_FD);
	failed |= posix_spawn_file_actions_addclosefrom_np(
		files, variables_fd >= 0 ? VARIABLES_FD + 1 : STDERR_FILENO + 1);
	failed |= posix_spawnattr_setsigmask(attributes, &none);
	failed |= posix_spawnattr_setsigdefault(attributes, &all);
	failed |= posix_spawnattr_setflags(attributes,
					   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return failed;
}

static int start(const struct ask *ask, const struct talk *talk, pid_t *ret_pid)
{
	owned(fd_close) int variables_fd =
		has_variables(ask) ? open_variables(&ask->request->variables) : -1;
	const char *program = ask->request ? ask->request->program : NULL;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	struct strv argv = STRV_INIT;
	int failed;

	if (has_variables(ask) && variables_fd < 0)
		return EAGAIN;
	build_argv(ask, &argv);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	failed = set_up(&files, &attributes, talk, variables_fd);
	if (ask->at_top)
		failed |= posix_spawn_file_actions_addchdir_np(&files, "/");
	if (!failed)
		failed = posix_spawn(ret_pid, program ? program : AISBX_PROGRAM, &files,
				     &attributes, argv.items, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	strv_done(&argv);
	return failed;
}

static void feed(struct talk *talk, const struct str *input)
{
	ssize_t done = write(talk->input_write, input->data + talk->fed, input->len - talk->fed);

	if (done > 0)
		talk->fed += (size_t)done;
	else if (done < 0 && errno != EAGAIN && errno != EINTR)
		talk->fed = input->len;
	if (talk->fed == input->len)
		fd_close(&talk->input_write);
}

/* False at the end of the answer. */
static bool collect(struct talk *talk, struct str *answer)
{
	char chunk[65536];
	ssize_t got = read(talk->output_read, chunk, sizeof(chunk));

	if (got > 0)
		str_add_bytes(answer, chunk, (size_t)got);
	if (got < 0 && errno != EINTR && errno != EAGAIN)
		talk->broken = true;
	return got > 0 || (got < 0 && !talk->broken);
}

static void converse(struct talk *talk, const struct str *input, struct str *answer)
{
	struct pollfd ready[2] = { { .fd = talk->output_read, .events = POLLIN } };
	int got;

	if (input->len == 0)
		fd_close(&talk->input_write);
	for (;;) {
		ready[0].revents = 0;
		ready[1] = (struct pollfd){ .fd = talk->input_write, .events = POLLOUT };
		got = poll(ready, 2, talk_left_ms(talk));
		talk->late = got == 0;
		talk->broken = got < 0 && errno != EINTR;
		if (talk->late || talk->broken)
			return;
		if (got < 0)
			continue;
		if (ready[1].revents)
			feed(talk, input);
		if (ready[0].revents && !collect(talk, answer))
			return;
	}
}

bool hold_pipe_signal(sigset_t *ret_before)
{
	sigset_t pipe_only, pending;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigemptyset(&pending);
	(void)sigpending(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &pipe_only, ret_before);
	return sigismember(&pending, SIGPIPE) == 0;
}

void release_pipe_signal(const sigset_t *before, bool take_back)
{
	const struct timespec now = { 0, 0 };
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	while (take_back && sigtimedwait(&pipe_only, NULL, &now) == SIGPIPE)
		continue;
	(void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Until the program has ended, at most WAIT_MS. */
static bool await_end(const struct talk *talk, int wait_ms)
{
	int got;

	do
		got = fd_wait(talk->pid_fd, POLLIN, wait_ms);
	while (got < 0 && errno == EINTR);
	return got != 0;
}

/* Without a descriptor of it the program was collected, and its number may be another's by now. */
static void end_program(struct talk *talk)
{
	if (talk->pid_fd < 0)
		return;
	(void)syscall(SYS_pidfd_send_signal, talk->pid_fd, SIGTERM, NULL, 0);
	if (!await_end(talk, END_MS))
		(void)syscall(SYS_pidfd_send_signal, talk->pid_fd, SIGKILL, NULL, 0);
}

bool wait_for(struct talk *talk, pid_t pid, int *ret_exit_status)
{
	int status;
	pid_t got;

	if (!talk->late && talk->pid_fd >= 0)
		talk->late = !await_end(talk, talk_left_ms(talk));
	if (talk->late)
		end_program(talk);
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	*ret_exit_status = PROCESS_COLLECTED;
	if (got == pid && WIFEXITED(status))
		*ret_exit_status = WEXITSTATUS(status);
	return got != pid || WIFEXITED(status);
}

enum aisbx_error process_start(const struct ask *ask, struct talk *ret_talk, pid_t *ret_pid)
{
	int failed;

	if (talk_open(ret_talk) < 0)
		return AISBX_ERROR_SYSTEM;
	failed = start(ask, ret_talk, ret_pid);
	fd_close(&ret_talk->input_read);
	fd_close(&ret_talk->output_write);
	if (!failed) {
		ret_talk->pid_fd = (int)syscall(SYS_pidfd_open, *ret_pid, 0);
		talk_set_limit(ret_talk, request_limit_ms(ask->request, ask->is_run));
		return AISBX_OK;
	}
	talk_close(ret_talk);
	return failed == EAGAIN || failed == ENOMEM ? AISBX_ERROR_SYSTEM : AISBX_ERROR_PROGRAM;
}

enum aisbx_error process_ask(const struct ask *ask, struct str *ret_answer, int *ret_exit_status)
{
	static const struct str nothing = STR_INIT;
	enum aisbx_error failed;
	struct talk talk;
	sigset_t before;
	bool take_back, came_to_end;
	pid_t pid;

	failed = process_start(ask, &talk, &pid);
	if (failed)
		return failed;
	take_back = hold_pipe_signal(&before);
	converse(&talk, ask->input ? ask->input : &nothing, ret_answer);
	release_pipe_signal(&before, take_back);
	fd_close(&talk.input_write);
	fd_close(&talk.output_read);
	came_to_end = wait_for(&talk, pid, ret_exit_status);
	talk_close(&talk);
	if (talk.late)
		return AISBX_ERROR_TIME;
	return came_to_end && !talk.broken ? AISBX_OK : AISBX_ERROR_ANSWER;
}
