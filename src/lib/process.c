/*
 * libaisbx: starting the program, feeding and reading it, without a trace in the caller's process.
 *
 * The child gets three descriptors and default signals. The caller's thread has SIGPIPE blocked
 * while it feeds, because the program may stop reading at any time; one that our write raised is
 * taken back before the mask is restored. The end is the end of its stdout: the exit status is
 * asked for afterwards, and a caller who collects children himself only costs us that number.
 */
#include "base/fd.h"
#include "base/own.h"
#include "lib/lib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void talk_close(struct talk *talk)
{
	fd_close(&talk->input_read);
	fd_close(&talk->input_write);
	fd_close(&talk->output_read);
	fd_close(&talk->output_write);
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
	*talk = (struct talk){ -1, -1, -1, -1, 0, false };
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

static void build_argv(const struct ask *ask, struct strv *argv)
{
	strv_add(argv, "aisbx");
	strv_add(argv, ask->verb);
	strv_add(argv, "--json");
	if (ask->request)
		strv_copy(argv, &ask->request->flags);
	strv_copy(argv, &ask->words);
	if (ask->behind.count > 0)
		strv_add(argv, "--");
	strv_copy(argv, &ask->behind);
}

/* Returns an error number. */
static int set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes,
		  const struct talk *talk)
{
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	failed = posix_spawn_file_actions_adddup2(files, talk->input_read, STDIN_FILENO);
	failed |= posix_spawn_file_actions_adddup2(files, talk->output_write, STDOUT_FILENO);
	/* With --json it speaks on stdout; more would land in the caller's terminal. */
	failed |= posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	failed |= posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
	failed |= posix_spawnattr_setsigmask(attributes, &none);
	failed |= posix_spawnattr_setsigdefault(attributes, &all);
	failed |= posix_spawnattr_setflags(attributes,
					   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return failed;
}

static int start(const struct ask *ask, const struct talk *talk, pid_t *ret_pid)
{
	const char *program = ask->request ? ask->request->program : NULL;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	struct strv argv = STRV_INIT;
	int failed;

	build_argv(ask, &argv);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	failed = set_up(&files, &attributes, talk);
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

	if (input->len == 0)
		fd_close(&talk->input_write);
	for (;;) {
		ready[0].revents = 0;
		ready[1] = (struct pollfd){ .fd = talk->input_write, .events = POLLOUT };
		if (poll(ready, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			talk->broken = true;
			return;
		}
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

bool wait_for(pid_t pid, int *ret_exit_status)
{
	int status;
	pid_t got;

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
	if (!failed)
		return AISBX_OK;
	talk_close(ret_talk);
	return failed == EAGAIN || failed == ENOMEM ? AISBX_ERROR_SYSTEM : AISBX_ERROR_PROGRAM;
}

enum aisbx_error process_ask(const struct ask *ask, struct str *ret_answer, int *ret_exit_status)
{
	static const struct str nothing = STR_INIT;
	enum aisbx_error failed;
	struct talk talk;
	sigset_t before;
	bool take_back;
	pid_t pid;

	failed = process_start(ask, &talk, &pid);
	if (failed)
		return failed;
	take_back = hold_pipe_signal(&before);
	converse(&talk, ask->input ? ask->input : &nothing, ret_answer);
	release_pipe_signal(&before, take_back);
	talk_close(&talk);
	if (!wait_for(pid, ret_exit_status) || talk.broken)
		return AISBX_ERROR_ANSWER;
	return AISBX_OK;
}
