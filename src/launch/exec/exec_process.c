/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a resident init starts on request, up to their exec; and their end. */
#include "launch/exec/exec_process.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "confine/rlimit.h"
#include "confine/seccomp/seccomp.h"
#include "launch/exec/exec_user.h"
#include "launch/setup/command.h"
#include "launch/setup/lockdown.h"
#include "launch/setup/secret_files.h"
#include "launch/setup/terminal.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each round stops the processes that were forked during the one before; what outruns this many is ended with the sandbox. */
#define KILL_ROUNDS 64
#define KILL_MAX 4096
#define SESSIONS_MAX 256
#define MEMBER_STACK 65536

struct member {
	const struct start *start;
	const struct attach_packet *packet;
	bool has_group;
	const struct identity *user; /* NULL: the sandbox's own */
	struct strv words[ATTACH_GROUPS];
};

static _Noreturn void fail(int client_fd, const struct error *err)
{
	struct attach_message message = { .kind = ATTACH_FAILED };

	message.error = *err;
	(void)attach_send(client_fd, &message, NULL, 0);
	_exit(error_run_exit_status(err->code));
}

/* Those that are not the pty, in order, behind the way to the client. */
static int take_descriptors(const struct attach_packet *packet, struct error *err)
{
	size_t next = 1;

	for (int i = 0; i < 3; i++) {
		if (packet->message.exec.tty[i])
			continue;
		if (next >= packet->fd_count)
			return error_set(err, ERROR_INTERNAL, "descriptor %d is missing", i);
		if (dup2(packet->fds[next++], i) < 0)
			return error_errno(err, ERROR_HOST, "descriptor %d", i);
	}
	return 0;
}

static int take_terminal(const struct attach_packet *packet, struct error *err)
{
	const struct attach_message message = { .kind = ATTACH_TERMINAL };
	const struct attach_exec *exec = &packet->message.exec;
	const struct winsize size = { .ws_row = exec->rows, .ws_col = exec->columns };
	const bool *tty = exec->tty;
	owned(fd_close) int master = -1;

	if (!tty[0] && !tty[1] && !tty[2])
		return 0;
	if (terminal_open(tty, &size, &master, err) < 0)
		return -1;
	if (attach_send(packet->fds[0], &message, &master, 1) < 0)
		return error_errno(err, ERROR_HOST, "cannot send the terminal");
	return 0;
}

static int limit(const struct member *member, struct error *err)
{
	const struct attach_exec *exec = &member->packet->message.exec;
	struct spec_limits limits = member->start->spec->limits;

	if (exec->cpu_seconds)
		limits.cpu_time_ms = (uint64_t)exec->cpu_seconds * 1000;
	if (rlimit_apply(&limits, !member->has_group) < 0 || rlimit_step_back(&limits) < 0)
		return error_errno(err, ERROR_HOST, "cannot set limits");
	return 0;
}

static int prepare(const struct member *member, struct error *err)
{
	const struct attach_packet *packet = member->packet;
	const char *directory = member->words[ATTACH_DIRECTORY].items[0];

	lockdown_signals();
	if (setsid() < 0)
		return error_errno(err, ERROR_HOST, "no session of its own");
	if (take_descriptors(packet, err) < 0)
		return -1;
	if (chdir(directory) < 0)
		return error_errno(err, ERROR_HOST, "working directory %s", directory);
	/* The directory is the caller's choice, whose command may run in one that its user has no way to; not so the terminal. */
	if (identity_leave_init(member->start->spec, member->user, err) < 0)
		return -1;
	if (take_terminal(packet, err) < 0 || limit(member, err) < 0)
		return -1;
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "cannot close descriptors");
	return 0;
}

/* Shares init's memory, which waits meanwhile: nothing is allocated, and nothing written but this stack. */
static int become(void *cookie)
{
	struct attach_message running = { .kind = ATTACH_RUNNING };
	const struct member *member = cookie;
	const struct sock_fprog *extra = member->start->io->extra_filter;
	int client_fd = member->packet->fds[0];
	struct error err = { 0 };

	if (prepare(member, &err) < 0)
		fail(client_fd, &err);
	running.at_ns = clock_now_ns();
	if (attach_send(client_fd, &running, NULL, 0) < 0)
		_exit(125); /* there is no client to see it run */
	/* Last of all: it may take away what we still needed. */
	if (extra && seccomp_load(extra, false, NULL) < 0) {
		error_errno(&err, ERROR_DENIED, "cannot load the filter of %s",
			    member->start->spec->seccomp);
		fail(client_fd, &err);
	}
	command_exec(&member->words[ATTACH_COMMAND], &member->words[ATTACH_ENVIRON], &err);
	fail(client_fd, &err);
}

/*
 * Without a copy of init's memory: that is most of what a fork costs. Init waits until the exec, which no process inside
 * can delay: leases, that an exec would have to wait for, are refused by the filter.
 */
static pid_t fork_quickly(struct member *member)
{
#ifdef __SANITIZE_ADDRESS__
	pid_t pid = fork();

	if (pid == 0)
		become(member);
	return pid;
#else
	static char stack[MEMBER_STACK] __attribute__((aligned(16)));

	return clone(become, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, member);
#endif
}

static int put_secrets(const struct strv *words, struct strv *env, struct strv *ret_names,
		       struct error *err)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(fd_close) int dir_fd = -1;

	if (words->count == 0)
		return 0;
	if (secrets_from_words(words, &secrets, err) < 0 || secret_files_open(&dir_fd, err) < 0)
		return -1;
	for (size_t i = 0; i < secrets.count; i++)
		if (secrets.items[i].name[0] != '$')
			strv_add(ret_names, secrets.items[i].name);
	secrets_add_variables(&secrets, env);
	return secret_files_put(dir_fd, &secrets, err);
}

pid_t exec_process_start(const struct start *start, const struct attach_packet *packet,
			 bool has_group, struct exec_process *ret_process, struct error *err)
{
	struct member member = { .start = start, .packet = packet, .has_group = has_group };
	struct strv *user = &member.words[ATTACH_USER];
	pid_t pid = -1;

	ret_process->user = (struct identity){ start->spec->ids.uid, start->spec->ids.gid };
	if (attach_words(packet, member.words, err) == 0 &&
	    exec_user_take(start->spec, user, &member.words[ATTACH_ENVIRON], &ret_process->user,
			   err) == 0 &&
	    put_secrets(&member.words[ATTACH_SECRETS], &member.words[ATTACH_ENVIRON],
			&ret_process->secrets, err) == 0) {
		member.user = user->count > 0 ? &ret_process->user : NULL;
		pid = fork_quickly(&member);
		if (pid < 0)
			error_errno(err, ERROR_HOST, "cannot start another process");
	}
	secrets_words_done(&member.words[ATTACH_SECRETS]);
	secrets_words_done(&member.words[ATTACH_ENVIRON]);
	for (size_t i = 0; i < ATTACH_GROUPS; i++)
		strv_done(&member.words[i]);
	return pid;
}

struct process {
	pid_t pid, parent, session;
	bool is_stopped, is_marked;
};

/* The sessions of an exec: its own, and those that its processes have begun. */
struct family {
	pid_t sessions[SESSIONS_MAX];
	size_t count;
};

static bool family_has(const struct family *family, pid_t session)
{
	for (size_t i = 0; i < family->count; i++) {
		if (family->sessions[i] == session)
			return true;
	}
	return false;
}

static void family_add(struct family *family, pid_t session)
{
	if (session > 1 && family->count < SESSIONS_MAX && !family_has(family, session))
		family->sessions[family->count++] = session;
}

/* Behind the name, which may hold anything: state, parent, group, session. */
static bool read_process(const char *name, struct process *ret_process)
{
	char path[32], text[512], state = 0;
	int parent = 0, session = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.10s/stat", name);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	const char *end = strrchr(text, ')');

	if (!end || sscanf(end + 1, " %c %d %*d %d", &state, &parent, &session) != 3)
		return false;
	*ret_process = (struct process){ .pid = (pid_t)strtol(name, NULL, 10),
					 .parent = parent,
					 .session = session,
					 .is_stopped = state == 'T' };
	return ret_process->pid > 1 && state != 'Z';
}

static size_t list_processes(struct process *ret_list, size_t max)
{
	DIR *proc = opendir("/proc");
	size_t count = 0;

	if (!proc)
		return 0;
	for (const struct dirent *entry; count < max && (entry = readdir(proc));) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    read_process(entry->d_name, &ret_list[count]))
			count++;
	}
	closedir(proc);
	return count;
}

static bool is_child_of_marked(const struct process *list, size_t count, pid_t parent)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].is_marked && list[i].pid == parent)
			return true;
	}
	return false;
}

/* Marks all processes of the family, by session or parent, until there are no more. */
static void mark(struct family *family, struct process *list, size_t count)
{
	for (bool found = true; found;) {
		found = false;
		for (size_t i = 0; i < count; i++) {
			struct process *one = &list[i];

			if (one->is_marked || (!family_has(family, one->session) &&
					       !is_child_of_marked(list, count, one->parent)))
				continue;
			one->is_marked = found = true;
			family_add(family, one->session);
		}
	}
}

/*
 * /proc hides processes that may not be inspected: those that asked for it, and one that is just being executed. The
 * leader is our child and there until we have waited for it, shown or not.
 */
static size_t add_leader(pid_t leader, struct process *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].pid == leader)
			return count;
	}
	if (count < KILL_MAX)
		list[count++] =
			(struct process){ .pid = leader, .session = leader, .is_stopped = true };
	return count;
}

/* One pass over all processes: sends the signal to the family, and returns whether one of them was still running. */
static bool signal_family(struct family *family, struct process *list, int sig)
{
	size_t count = add_leader(family->sessions[0], list, list_processes(list, KILL_MAX));
	bool has_moved = false;

	mark(family, list, count);
	for (size_t i = 0; i < count; i++) {
		if (!list[i].is_marked || (sig == SIGSTOP && list[i].is_stopped))
			continue;
		(void)kill(list[i].pid, sig);
		has_moved = true;
	}
	return has_moved;
}

static void kill_family(pid_t leader)
{
	struct process *list = calloc(KILL_MAX, sizeof(*list));
	struct family family = { .sessions = { leader }, .count = 1 };

	/*
	 * Stopped first: a killed process makes room for another's child, a stopped one does not, so that even a fork bomb
	 * comes to an end.
	 */
	(void)kill(leader, SIGSTOP);
	for (int round = 0; list && round < KILL_ROUNDS; round++) {
		if (!signal_family(&family, list, SIGSTOP))
			break;
	}
	for (int round = 0; list && round < 2; round++)
		(void)signal_family(&family, list, SIGKILL);
	(void)kill(-leader, SIGKILL);
	free(list);
}

void exec_process_kill(const struct start *start, pid_t leader, const struct identity *user)
{
	identity_look_as(start->spec, user);
	kill_family(leader);
	identity_look_back(start->spec);
}
