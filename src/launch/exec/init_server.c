/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An init that stays: sealed like a payload, it starts the commands it is asked for, and reaps.
 *
 * It is the process that forks because no process inside can end, stop or trace pid 1: the kernel ignores their signals to
 * it, it is not dumpable, and the filter refuses to change its limits. What can be done once is done once, here:
 * namespaces, groups, capabilities, Landlock, the filter and its listener are inherited, so that starting a command is
 * little more than fork and exec. All commands are in one Landlock domain: they may signal each other, as on any machine.
 */
#include "launch/exec/init_server.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "confine/landlock.h"
#include "confine/root/root.h"
#include "confine/sysctl.h"
#include "launch/exec/halt.h"
#include "launch/exec/pids_limit.h"
#include "launch/setup/handshake.h"
#include "launch/exec/exec_process.h"
#include "launch/rename/dir_rename_process.h"
#include "launch/setup/lockdown.h"
#include "launch/setup/secret_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMBERS_MAX 1024

/* A command under way. */
struct member {
	uint32_t id;
	pid_t pid;
	int client_fd;
	struct exec_process process;
	bool is_ending; /* asked to, for good: nothing of it stays */
};

struct resident {
	const struct start *start;
	struct lockdown lockdown;
	int signal_fd;
	int order_fd;	 /* the order of victims when memory runs out */
	int lock_fds[2]; /* until the first request: by then a janitor holds them */
	struct member members[MEMBERS_MAX];
	size_t count;
	struct dir_rename_process dir_rename_process;
	struct attach_packet packet;
	bool was_idle;	  /* and the supervisor knows */
	uint64_t left_ns; /* when a process was last reaped */
};

/* What the helper made while we mounted: a proc of ours, the groups and their namespace. */
static int take_groups(struct resident *resident, int helper_fd, struct error *err)
{
	int fds[2 + CGROUP_DIRS_MAX];
	struct lockdown *lockdown = &resident->lockdown;
	size_t count = 0;
	ssize_t got = fd_receive(helper_fd, &lockdown->missing, sizeof(lockdown->missing), fds,
				 2 + CGROUP_DIRS_MAX, &count);

	if (got < 0)
		return error_errno(err, ERROR_HOST, "start: cannot receive the groups");
	if (got == 0 || count < 2)
		return error_set(err, ERROR_HOST, "start: the helper is gone");
	lockdown->proc_fd = fds[0];
	lockdown->has_group = count > 2;
	if (cgroup_enter(fds + 2, count - 2) < 0)
		return error_errno(err, ERROR_HOST, "cannot enter the control group");
	if (!(lockdown->missing & 1u << LAYER_CGROUP) && setns(fds[1], CLONE_NEWCGROUP) < 0)
		return error_errno(err, ERROR_HOST, "cannot enter the groups' namespace");
	for (size_t i = 1; i < count; i++)
		close(fds[i]);
	return 0;
}

/* Numbers 0 to 2 stay taken: what is received for a command must not become one of them by chance. */
static int take_nothing(struct error *err)
{
	owned(fd_close) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		return error_errno(err, ERROR_HOST, "/dev/null");
	return 0;
}

/*
 * When memory runs out the kernel is to end a command, not init, which may be larger than each of a thousand small ones.
 * They begin with what we have at the fork; our own file can be opened only now, and not by them.
 */
static void order_behind(struct resident *resident)
{
	resident->order_fd =
		openat(resident->lockdown.proc_fd, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	(void)!write(resident->order_fd, "0", 1);
}

static int seal(struct resident *resident, struct error *err)
{
	const struct start *start = resident->start;
	const struct message ready = { .kind = MESSAGE_EXEC };

	if (take_nothing(err) < 0 || lockdown_session(&resident->lockdown, err) < 0)
		return -1;
	order_behind(resident);
	const int keep[] = { 0,
			     1,
			     2,
			     resident->order_fd,
			     start->control_fd,
			     start->payload_fd,
			     resident->lockdown.proc_fd,
			     resident->signal_fd,
			     resident->lock_fds[0],
			     resident->lock_fds[1] };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot protect init");
	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
	umask(022);
	if (lockdown_init_privileges(start->spec, err) < 0)
		return -1;
	if (start->landlock_abi >= 2 && !bench_skip("landlock") &&
	    landlock_apply(start->landlock_abi, false) < 0)
		return error_errno(err, ERROR_DENIED, "cannot apply Landlock");
	if (!bench_skip("seccomp") && lockdown_filter(&resident->lockdown, err) < 0)
		return -1;
	/* The proc stays open here: it hides no process of which we have to know whether it runs. */
	if (handshake_send(start->payload_fd, &ready, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}

static void notify_supervisor(const struct resident *resident, const struct attach_message *message)
{
	(void)attach_send(resident->start->payload_fd, message, NULL, 0);
}

/* Those that no other command under way brought along, too. */
static void remove_secrets(const struct resident *resident, struct strv *names)
{
	owned(fd_close) int dir_fd = -1;
	struct error ignored;

	if (names->count > 0 && secret_files_open(&dir_fd, &ignored) == 0) {
		for (size_t i = 0; i < names->count; i++) {
			bool is_shared = false;

			for (size_t j = 0; j < resident->count && !is_shared; j++)
				is_shared = strv_has(&resident->members[j].process.secrets,
						     names->items[i]);
			if (!is_shared)
				(void)unlinkat(dir_fd, names->items[i], 0);
		}
	}
	strv_done(names);
}

static void refuse(const struct resident *resident, const struct error *err)
{
	const struct attach_packet *packet = &resident->packet;
	struct attach_message message = { .kind = ATTACH_FAILED, .id = packet->message.id };

	message.error = *err;
	(void)attach_send(packet->fds[0], &message, NULL, 0);
	message.kind = ATTACH_ENDED;
	memset(&message.ended, 0, sizeof(message.ended));
	notify_supervisor(resident, &message);
}

static void start_member(struct resident *resident)
{
	struct attach_packet *packet = &resident->packet;
	struct attach_message started = { .kind = ATTACH_STARTED, .id = packet->message.id };
	struct exec_process process = { .secrets = STRV_INIT };
	struct error err;

	if (packet->fd_count == 0)
		return;
	if (resident->count == MEMBERS_MAX) {
		error_set(&err, ERROR_HOST, "%d commands are under way already", MEMBERS_MAX);
		refuse(resident, &err);
		return;
	}
	(void)!write(resident->order_fd, "500", 3);
	started.pid = exec_process_start(resident->start, packet, resident->lockdown.has_group,
					 &process, &err);
	(void)!write(resident->order_fd, "0", 1);
	if (packet->message.exec.counts[ATTACH_SECRETS] > 0)
		explicit_bzero(packet->body, sizeof(packet->body));
	if (started.pid < 0) {
		remove_secrets(resident, &process.secrets);
		refuse(resident, &err);
		return;
	}
	resident->members[resident->count++] = (struct member){ .id = packet->message.id,
								.pid = started.pid,
								.client_fd = packet->fds[0],
								.process = process };
	/* Kept, to say how it ended. */
	packet->fds[0] = packet->fds[--packet->fd_count];
	resident->was_idle = false;
	notify_supervisor(resident, &started);
}

static void end_member(const struct resident *resident, const struct member *member)
{
	exec_process_kill(resident->start, member->pid, &member->process.user);
}

/* 0 means all processes. */
static void kill_member(const struct resident *resident, uint32_t id)
{
	if (id == 0)
		(void)kill(-1, SIGKILL);
	for (size_t i = 0; i < resident->count; i++) {
		if (resident->members[i].id == id)
			end_member(resident, &resident->members[i]);
	}
}

/* The command and its process group; a process that left the group did so on purpose. */
static void signal_member(struct resident *resident, const struct attach_message *message)
{
	for (size_t i = 0; i < resident->count; i++) {
		struct member *member = &resident->members[i];

		if (member->id != message->id)
			continue;
		(void)kill(-member->pid, message->signal);
		member->is_ending |= message->kind == ATTACH_END;
	}
}

/* All but init, including processes on their way through fork. */
static void freeze_all(const struct resident *resident)
{
	struct attach_message answer = { .kind = ATTACH_DONE, .id = resident->packet.message.id };
	struct error err;

	if (halt_all(resident->lockdown.proc_fd, &err) < 0) {
		answer.kind = ATTACH_FAILED;
		answer.error = err;
	}
	notify_supervisor(resident, &answer);
}

static void thaw_all(const struct resident *resident)
{
	const struct attach_message done = { .kind = ATTACH_DONE,
					     .id = resident->packet.message.id };

	(void)kill(-1, SIGCONT);
	notify_supervisor(resident, &done);
}

static void take_request(struct resident *resident)
{
	struct attach_packet *packet = &resident->packet;

	if (attach_receive(resident->start->payload_fd, packet) <= 0)
		_exit(0); /* the supervisor is gone, or not itself any more */
	fd_close(&resident->lock_fds[0]);
	fd_close(&resident->lock_fds[1]);
	if (packet->message.kind == ATTACH_EXEC)
		start_member(resident);
	else if (packet->message.kind == ATTACH_KILL)
		kill_member(resident, packet->message.id);
	else if (packet->message.kind == ATTACH_SIGNAL || packet->message.kind == ATTACH_END)
		signal_member(resident, &packet->message);
	else if (packet->message.kind == ATTACH_FREEZE)
		freeze_all(resident);
	else if (packet->message.kind == ATTACH_THAW)
		thaw_all(resident);
	attach_close(packet);
}

/* When no process is left. */
static void notify_idle(struct resident *resident)
{
	const struct attach_message idle = { .kind = ATTACH_IDLE, .at_ns = resident->left_ns };
	siginfo_t unused;

	if (resident->was_idle || waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	    errno != ECHILD)
		return;
	resident->was_idle = true;
	notify_supervisor(resident, &idle);
}

static void report_end(struct resident *resident, pid_t pid, int status, const struct rusage *usage)
{
	for (size_t i = 0; i < resident->count; i++) {
		struct member *member = &resident->members[i];
		struct attach_message message = { .kind = ATTACH_ENDED,
						  .id = member->id,
						  .at_ns = resident->left_ns };

		if (member->pid != pid)
			continue;
		message.ended.wait_status = status;
		message.ended.used = process_used_of(usage);
		/* Where a control group counts, its figure is used. */
		if (!resident->lockdown.has_group)
			message.ended.pids_hit =
				pids_limit_is_hit(resident->start->spec->limits.pids);
		/*
		 * The supervisor first: when the client's next command arrives there, it must know that this one has ended,
		 * and whether all have.
		 */
		notify_supervisor(resident, &message);
		notify_idle(resident);
		(void)attach_send(member->client_fd, &message, NULL, 0);
		close(member->client_fd);
		struct strv secrets = member->process.secrets;

		*member = resident->members[--resident->count];
		remove_secrets(resident, &secrets);
		return;
	}
}

/* Of those that were asked to end for good. Their leaders are not waited for yet: so their numbers are not reused. */
static void end_sessions(struct resident *resident)
{
	for (size_t i = 0; i < resident->count; i++) {
		struct member *member = &resident->members[i];
		siginfo_t ended = { .si_pid = 0 };

		if (!member->is_ending ||
		    waitid(P_PID, (id_t)member->pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0)
			continue;
		if (ended.si_pid != member->pid)
			continue;
		member->is_ending = false;
		end_member(resident, member);
	}
}

static void reap(struct resident *resident)
{
	end_sessions(resident);
	for (;;) {
		struct rusage usage;
		int status;
		pid_t pid = wait4(-1, &status, WNOHANG, &usage);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			notify_idle(resident);
		if (pid <= 0)
			return;
		resident->left_ns = clock_now_ns();
		if (pid == resident->dir_rename_process.pid)
			dir_rename_process_report(&resident->dir_rename_process);
		else
			report_end(resident, pid, status, &usage);
	}
}

static _Noreturn void serve(struct resident *resident)
{
	const struct start *start = resident->start;
	struct signalfd_siginfo info;

	for (;;) {
		struct pollfd polls[] = { { .fd = resident->signal_fd, .events = POLLIN },
					  { .fd = start->payload_fd, .events = POLLIN },
					  { .fd = start->control_fd, .events = POLLIN } };

		if (poll(polls, 3, -1) < 0 && errno != EINTR)
			_exit(1);
		/* Several ends can share one signal; reap takes them all. */
		if (polls[0].revents) {
			(void)!read(resident->signal_fd, &info, sizeof(info));
			reap(resident);
		}
		if (polls[1].revents)
			take_request(resident);
		if (polls[2].revents)
			dir_rename_process_start(&resident->dir_rename_process);
	}
}

static int open_signals(int *ret_fd, struct error *err)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	*ret_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "signalfd") : 0;
}

/*
 * The helper is the only other process so far. On its way out it would count as one: a first command that ends before it
 * would seem to leave a process behind, and nothing of the next one could be dated (fresh.c).
 */
static void await_helper(struct resident *resident)
{
	while (waitpid(-1, NULL, 0) < 0 && errno == EINTR)
		;
	resident->left_ns = clock_now_ns();
	notify_idle(resident);
}

void init_server_main(const struct start *start, int helper_fd, int quota_fd, struct error *err)
{
	owned(free_ptr) struct resident *resident = xcalloc(1, sizeof(*resident));

	resident->start = start;
	resident->lockdown = (struct lockdown){ .start = start, .proc_fd = -1 };
	resident->dir_rename_process.control_fd = start->control_fd;
	memcpy(resident->lock_fds, start->io->lock_fds, sizeof(resident->lock_fds));
	if (take_groups(resident, helper_fd, err) < 0 || sysctl_apply_last(quota_fd, err) < 0 ||
	    root_await_top(err) < 0 || open_signals(&resident->signal_fd, err) < 0 ||
	    seal(resident, err) < 0)
		return;
	await_helper(resident);
	serve(resident);
}
