/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: started, listened to, fed, ended.
 *
 * Output is read as fast as the slowest listener takes it, and thrown away without any. The end is reported when the command
 * has ended and its output is closed, as E2B does: a child in the background that keeps it open keeps the stream open.
 */
#include "envd/process.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/process/child.h"
#include "base/text/json_write.h"
#include "envd/keeper.h"
#include "envd/place.h"
#include "envd/routes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define OUTPUT_PART 32768
#define INPUT_MAX ((size_t)4 << 20)
/* Ended ones that can still be asked for. */
#define KEPT_MAX 64

struct process *process_find(const struct agent *agent, const struct value *selector, bool is_alive)
{
	const char *tag = value_get_text(selector, "tag");
	int64_t pid = value_int_of(selector, "pid");

	for (struct process *at = agent->processes; at; at = at->next) {
		bool is_same = tag ? str_same(at->tag, tag) : at->pid == pid;

		if (is_same && (!is_alive || !at->is_over))
			return at;
	}
	return NULL;
}

static void process_free(struct process *process)
{
	loop_drop(&process->end);
	loop_drop(&process->out[0]);
	loop_drop(&process->out[1]);
	loop_drop(&process->in);
	value_free(process->config);
	str_done(&process->input);
	note_done(&process->note);
	free(process->tag);
	free(process->listeners);
	free(process);
}

static void forget_old(struct agent *agent)
{
	unsigned kept = 0;

	for (struct process **slot = &agent->processes; *slot;) {
		struct process *process = *slot;

		if (process->is_over && ++kept > KEPT_MAX) {
			*slot = process->next;
			process_free(process);
		} else {
			slot = &process->next;
		}
	}
}

static void notify_listeners(const struct process *process, const struct str *json)
{
	for (size_t i = 0; i < process->listener_count; i++)
		call_message(process->listeners[i], json);
}

static const char *signal_name(int sig, char buffer[static 32])
{
	static const struct {
		int sig;
		const char *name;
	} rows[] = {
		{ SIGKILL, "killed" }, { SIGTERM, "terminated" },	  { SIGINT, "interrupt" },
		{ SIGHUP, "hangup" },  { SIGSEGV, "segmentation fault" }, { SIGABRT, "aborted" }
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].sig == sig)
			return rows[i].name;
	}
	(void)snprintf(buffer, 32, "signal %d", sig);
	return buffer;
}

static void describe_end(const struct process *process, struct str *json)
{
	char buffer[32];

	if (WIFEXITED(process->status)) {
		int code = WEXITSTATUS(process->status);

		str_addf(json,
			 "{\"event\":{\"end\":{\"exitCode\":%d,\"exited\":true,\"status\":\"exit "
			 "status %d\"",
			 code, code);
		if (code)
			str_addf(json, ",\"error\":\"exit status %d\"", code);
	} else {
		const char *name = signal_name(WTERMSIG(process->status), buffer);

		str_addf(json,
			 "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,\"status\":"
			 "\"signal: %s\",\"error\":\"signal: %s\"",
			 name, name);
	}
	str_add(json, "}}}");
}

static void end_if_over(struct process *process)
{
	owned(str_done) struct str json = STR_INIT;

	if (process->is_over || process->end.fd >= 0 || process->out[0].fd >= 0 ||
	    process->out[1].fd >= 0)
		return;
	process->is_over = true;
	process->starter = NULL;
	loop_drop(&process->in);
	process->note.status = process->status;
	agent_note(process->agent, process->channel, &process->note);
	note_done(&process->note);
	describe_end(process, &json);
	notify_listeners(process, &json);
	for (size_t i = 0; i < process->listener_count; i++) {
		process->listeners[i]->own = NULL;
		call_finish(process->listeners[i]);
	}
	process->listener_count = 0;
	forget_old(process->agent);
}

/* Reads on where every listener has room. */
static void watch_output(struct process *process)
{
	bool has_room = true;

	for (size_t i = 0; i < process->listener_count; i++)
		has_room &= call_has_room(process->listeners[i]);
	for (unsigned i = 0; i < 2; i++)
		loop_watch(&process->out[i], has_room ? EPOLLIN : 0);
}

static void take_output(struct process *process, unsigned which)
{
	const char *name = process->has_terminal ? "pty" : which ? "stderr" : "stdout";
	owned(str_done) struct str json = STR_INIT;
	char bytes[OUTPUT_PART];
	ssize_t got = read(process->out[which].fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		loop_drop(&process->out[which]);
		end_if_over(process);
		return;
	}
	note_add(&process->note, which, bytes, (size_t)got);
	str_addf(&json, "{\"event\":{\"data\":{\"%s\":\"", name);
	base64_add(&json, bytes, (size_t)got);
	str_add(&json, "\"}}}");
	notify_listeners(process, &json);
	watch_output(process);
}

static void take_stdout(struct source *source, uint32_t events)
{
	(void)events;
	take_output(SOURCE_OF(process, out[0], source), 0);
}

static void take_stderr(struct source *source, uint32_t events)
{
	(void)events;
	take_output(SOURCE_OF(process, out[1], source), 1);
}

static void take_end(struct source *source, uint32_t events)
{
	struct process *process = SOURCE_OF(process, end, source);

	(void)events;
	process->status = child_wait(process->pid);
	loop_drop(&process->end);
	end_if_over(process);
}

static void give_input(struct source *source, uint32_t events)
{
	struct process *process = SOURCE_OF(process, in, source);
	size_t left = process->input.len - process->input_at;
	ssize_t done = left ? write(source->fd, process->input.data + process->input_at, left) : 0;

	(void)events;
	if (done < 0 && errno != EAGAIN && errno != EINTR) {
		loop_drop(source);
		return;
	}
	str_pass(&process->input, &process->input_at, done > 0 ? (size_t)done : 0);
	if (process->input.len > process->input_at)
		return;
	if (process->closes_in)
		loop_drop(source);
	else
		loop_watch(source, 0);
}

bool process_feed(struct process *process, const char *bytes, size_t len)
{
	if (process->input.len - process->input_at + len > INPUT_MAX)
		return false;
	str_add_bytes(&process->input, bytes, len);
	loop_watch(&process->in, EPOLLOUT);
	return true;
}

void process_close_input(struct process *process)
{
	process->closes_in = true;
	loop_watch(&process->in, EPOLLOUT);
}

void process_listen(struct process *process, struct call *call)
{
	owned(str_done) struct str json = STR_INIT;

	str_addf(&json, "{\"event\":{\"start\":{\"pid\":%d}}}", process->pid);
	call_message(call, &json);
	if (process->is_over) {
		str_clear(&json);
		describe_end(process, &json);
		call_message(call, &json);
		call_finish(call);
		return;
	}
	process->listeners =
		xrealloc(process->listeners, process->listener_count + 1, sizeof(struct call *));
	process->listeners[process->listener_count++] = call;
	call->own = process;
	watch_output(process);
}

bool process_more(struct call *call)
{
	if (call->own)
		watch_output(call->own);
	return false;
}

/* A client that leaves ends nothing; the time it gave its command does. */
void process_left(struct call *call)
{
	struct process *process = call->own;
	size_t kept = 0;

	call->own = NULL;
	if (!process)
		return;
	for (size_t i = 0; i < process->listener_count; i++) {
		if (process->listeners[i] != call)
			process->listeners[kept++] = process->listeners[i];
	}
	process->listener_count = kept;
	if (process->starter == call) {
		process->starter = NULL;
		if (call->is_late)
			(void)kill(-process->pid, SIGKILL);
	}
	watch_output(process);
}

int processes_turn(struct agent *agent)
{
	uint64_t now_ns = clock_now_ns(), next_ns = UINT64_MAX;

	for (struct process *at = agent->processes; at; at = at->next) {
		if (at->is_over || !at->deadline_ns)
			continue;
		if (at->deadline_ns > now_ns) {
			next_ns = at->deadline_ns < next_ns ? at->deadline_ns : next_ns;
			continue;
		}
		at->deadline_ns = 0;
		at->note.kind = NOTE_LATE;
		(void)kill(-at->pid, SIGKILL);
	}
	return next_ns == UINT64_MAX ? -1 : (int)((next_ns - now_ns) / 1000000) + 1;
}

/* The six ends of a command's pipes: its own, then ours. */
struct ends {
	int own[3], ours[3];
};

static void ends_close(struct ends *ends)
{
	for (unsigned i = 0; i < 3; i++) {
		fd_close(&ends->own[i]);
		fd_close(&ends->ours[i]);
	}
}

static int open_pipes(bool has_input, struct ends *ends)
{
	for (unsigned i = 0; i < 3; i++) {
		int pair[2];

		if (i == 0 && !has_input) {
			ends->own[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
			continue;
		}
		if (pipe2(pair, O_CLOEXEC) < 0)
			return -1;
		ends->own[i] = pair[i ? 1 : 0];
		ends->ours[i] = pair[i ? 0 : 1];
		(void)fcntl(ends->ours[i], F_SETFL, (i ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
	}
	return 0;
}

static int open_terminal(const struct process_wish *wish, struct ends *ends)
{
	const struct winsize size = { .ws_row = (unsigned short)wish->rows,
				      .ws_col = (unsigned short)wish->columns };

	ends->ours[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (ends->ours[1] < 0 || unlockpt(ends->ours[1]) < 0)
		return -1;
	(void)ioctl(ends->ours[1], TIOCSWINSZ, &size);
	ends->own[0] = ioctl(ends->ours[1], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	ends->ours[0] = fcntl(ends->ours[1], F_DUPFD_CLOEXEC, 3);
	return ends->own[0] < 0 || ends->ours[0] < 0 ? -1 : 0;
}

static _Noreturn void become(const struct process_wish *wish, const struct ends *ends,
			     int report_fd)
{
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (setsid() >= 0 && chdir(wish->directory) == 0) {
		if (wish->has_terminal)
			(void)ioctl(ends->own[0], TIOCSCTTY, 0);
		for (int i = 0; i < 3; i++)
			(void)dup2(ends->own[wish->has_terminal ? 0 : i], i);
		if (wish->is_kept)
			keeper_stay();
		execvpe(wish->argv.items[0], wish->argv.items, wish->env.items);
	}
	(void)!write(report_fd, &errno, sizeof(errno));
	_exit(127);
}

/* The pid, once the program runs; -1 with errno when it cannot. */
static pid_t start_program(const struct process_wish *wish, const struct ends *ends)
{
	int report[2], failure = 0;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();

	if (pid == 0)
		become(wish, ends, report[1]);
	close(report[1]);
	if (pid > 0 && read(report[0], &failure, sizeof(failure)) == (ssize_t)sizeof(failure)) {
		(void)child_wait(pid);
		pid = -1;
		errno = failure;
	}
	close(report[0]);
	return pid;
}

pid_t process_launch(const struct process_wish *wish, int ret_fds[static 3], const char **ret_what)
{
	owned(ends_close) struct ends ends = { { -1, -1, -1 }, { -1, -1, -1 } };

	*ret_what = "no pipes for its streams";
	if ((wish->has_terminal ? open_terminal(wish, &ends) : open_pipes(wish->has_input, &ends)) <
	    0)
		return -1;
	*ret_what = wish->argv.items[0];
	pid_t pid = start_program(wish, &ends);

	for (unsigned i = 0; pid > 0 && i < 3; i++)
		ret_fds[i] = fd_take(&ends.ours[i]);
	return pid;
}

struct process *process_spawn(struct agent *agent, const struct process_wish *wish,
			      const char **ret_what)
{
	int fds[3];
	pid_t pid = process_launch(wish, fds, ret_what);

	if (pid < 0)
		return NULL;
	struct process *process = xcalloc(1, sizeof(*process));

	process->agent = agent;
	process->pid = pid;
	process->note.kind = NOTE_ENDED;
	process->has_terminal = wish->has_terminal;
	process->end = (struct source){ .loop_fd = agent->loop_fd,
					.fd = child_open(pid),
					.ready = take_end };
	process->in =
		(struct source){ .loop_fd = agent->loop_fd, .fd = fds[0], .ready = give_input };
	process->out[0] =
		(struct source){ .loop_fd = agent->loop_fd, .fd = fds[1], .ready = take_stdout };
	process->out[1] =
		(struct source){ .loop_fd = agent->loop_fd, .fd = fds[2], .ready = take_stderr };
	loop_watch(&process->end, EPOLLIN);
	process->next = agent->processes;
	agent->processes = process;
	return process;
}
