/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload process: seals itself while init assembles the root, then becomes the command.
 *
 * Stages, in this order because each needs what a later one takes away: own network; session and keyring; resource
 * groups (it enters them itself) and limits; kernel quotas; standard descriptors; no capabilities; the filter.
 * Then it waits for init. Behind that only what the filter permits: directory, terminal, Landlock, the user's own
 * filter, exec.
 */
#include "launch/setup/lockdown.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "confine/landlock.h"
#include "confine/network.h"
#include "confine/rlimit.h"
#include "confine/seccomp/seccomp.h"
#include "confine/sysctl.h"
#include "launch/start/prestart.h"
#include "launch/start/ready_take.h"
#include "launch/setup/command.h"
#include "launch/setup/egress.h"
#include "launch/setup/populate.h"
#include "launch/setup/handshake.h"
#include "launch/setup/identity.h"
#include "launch/exec/init_server.h"
#include "launch/setup/terminal.h"
#include "net/inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct payload {
	const struct start *start;
	int release_fd;
	struct lockdown lockdown;
	struct launch_io io; /* the start's, with descriptors of this process */
	int names_fds[2];    /* where questions for names arrive without a gateway; -1 for none */
};

static _Noreturn void fail(const struct payload *payload, const struct error *err)
{
	struct message message = { .kind = MESSAGE_FAILED };

	message.error = *err;
	(void)handshake_send(payload->start->payload_fd, &message, NULL, 0);
	/* The user's own filter may have kept us from sending: the exit status is the short form. */
	_exit(error_run_exit_status(err->code));
}

static int take_hands(const struct payload *payload, struct error *err)
{
	struct passed_fds *passed_fds = payload->io.passed_fds;

	return passed_fds ? passed_fds_open(passed_fds, payload->lockdown.proc_fd, err) : 0;
}

/* Where a pty will be, the caller's own descriptor stays until then: a free number would be given away. */
static int take_descriptors(const struct payload *payload, struct error *err)
{
	const struct launch_io *io = &payload->io;

	for (int i = 0; i < 3; i++) {
		if (io->fds[i] >= 0 && dup2(io->fds[i], i) < 0)
			return error_errno(err, ERROR_HOST, "descriptor %d", i);
	}
	return 0;
}

/* The dearest of all namespaces: made here, where it overlaps with init's mounts. Init joins it later. */
static int own_network(struct payload *payload, struct error *err)
{
	bool reports_names = !bench_skip("names");

	if (bench_skip("net"))
		reports_names = false;
	else if (network_isolate() < 0)
		return error_errno(err, ERROR_DENIED, "no network namespace of its own");
	if (egress_set_up(payload->start, err) < 0)
		return -1;
	/* Only to report which names were asked for: without it nothing is open either. */
	if (reports_names && payload->start->inside_fd < 0 &&
	    inside_watch_names(payload->names_fds) < 0)
		payload->names_fds[0] = -1;
	return fresh_proc(&payload->lockdown.proc_fd, err);
}

/* Init needs that before it can attach anything. Mounts are made with the ids of the sandbox only. */
static int populate(const struct payload *payload, struct error *err)
{
	const struct message network = { .kind = MESSAGE_NETWORK };
	const struct message names = { .kind = MESSAGE_NAMES };
	struct fresh fresh = FRESH_INIT;
	owned(fd_close) int network_fd = network_open(payload->lockdown.proc_fd);
	const struct populate_gift gift = { network_fd, payload->lockdown.proc_fd };

	if (network_fd < 0)
		return error_errno(err, ERROR_HOST, "start: cannot open the network");
	if (populate_by_payload(payload->start->spec) &&
	    populate_make(payload->start, &fresh, err) < 0)
		return -1;
	if (payload->start->inside_fd >= 0 &&
	    handshake_send(payload->start->payload_fd, &network, &network_fd, 1) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send the network");
	if (payload->names_fds[0] >= 0 &&
	    handshake_send(payload->start->payload_fd, &names, payload->names_fds, 2) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send the sockets for names");
	return populate_send(payload->start, payload->release_fd, &gift, &fresh, err);
}

/* Layers on disk are only looked at now and then: a single file at least does not grow beyond what all may have. */
static int set_limits(const struct payload *payload, struct error *err)
{
	struct spec_limits limits = payload->start->spec->limits;

	if (payload->start->storage && limits.disk_bytes &&
	    (!limits.fsize_bytes || limits.fsize_bytes > limits.disk_bytes))
		limits.fsize_bytes = limits.disk_bytes;
	if (rlimit_apply(&limits, !payload->lockdown.has_group) < 0)
		return error_errno(err, ERROR_HOST, "cannot set limits");
	return 0;
}

/* The other limits are the caller's, who is not known yet (ready_await). */
static int wait_without_core(struct error *err)
{
	return rlimit_no_core() < 0 ? error_errno(err, ERROR_HOST, "cannot set limits") : 0;
}

static int set_quotas(const struct payload *payload, struct error *err)
{
	bool has_ipc = !(payload->start->missing & 1u << LAYER_IPC);

	return bench_skip("quotas") ? 0
				    : sysctl_apply_early(payload->lockdown.proc_fd, has_ipc, err);
}

/* Nothing before needs it: a start that was begun ahead waits here. */
static int learn_plan(struct payload *payload, struct error *err)
{
	const struct start *start = payload->start;

	if (start->is_prestarted)
		return prestart_await(start, start->payload_fd, &payload->io, err);
	payload->io = *start->io;
	return 0;
}

static int seal(struct payload *payload, struct error *err)
{
	struct lockdown *lockdown = &payload->lockdown;
	const struct launch_io *io = &payload->io;
	struct message_fds groups;
	struct message message;

	_Static_assert(CGROUP_DIRS_MAX <= MESSAGE_FDS_MAX, "one message carries all groups");
	if (own_network(payload, err) < 0 || learn_plan(payload, err) < 0)
		return -1;
	/* This message also means that the id maps are written. */
	if (handshake_expect(payload->start->payload_fd, MESSAGE_GROUPS, &message, &groups, err) <
	    0)
		return -1;
	/* After the next message to init the host's mounts are not needed here any more. */
	if (lockdown_session(lockdown, err) < 0 || take_hands(payload, err) < 0 ||
	    populate(payload, err) < 0 ||
	    lockdown_groups(lockdown, groups.items, groups.count, err) < 0)
		return -1;
	for (size_t i = 0; i < groups.count; i++)
		close(groups.items[i]);
	if ((io->waits ? wait_without_core(err) : set_limits(payload, err)) < 0 ||
	    set_quotas(payload, err) < 0 || take_descriptors(payload, err) < 0)
		return -1;
	lockdown_signals();
	umask(022);
	if (lockdown_privileges(err) < 0)
		return -1;
	return bench_skip("seccomp") ? 0 : lockdown_filter(lockdown, err);
}

/* The namespace of the groups is made before the quotas end the making of any; init enters both later. */
static int send_groups(const struct payload *payload, const struct message_fds *groups,
		       struct error *err)
{
	int fds[2 + CGROUP_DIRS_MAX] = { payload->lockdown.proc_fd,
					 openat(payload->lockdown.proc_fd, "self/ns/cgroup",
						O_RDONLY | O_CLOEXEC) };

	for (size_t i = 0; i < groups->count; i++)
		fds[2 + i] = groups->items[i];
	if (fds[1] < 0 || fd_send(payload->release_fd, &payload->lockdown.missing,
				  sizeof(payload->lockdown.missing), fds, 2 + groups->count) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send the groups");
	return 0;
}

_Noreturn void helper_main(const struct start *start, int release_fd)
{
	struct payload payload = { .start = start,
				   .names_fds = { -1, -1 },
				   .release_fd = release_fd,
				   .lockdown = { .start = start, .proc_fd = -1 } };
	struct message_fds groups;
	struct message message;
	struct error err = { 0 };

	close(start->control_fd);
	if (own_network(&payload, &err) < 0 ||
	    handshake_expect(start->payload_fd, MESSAGE_GROUPS, &message, &groups, &err) < 0 ||
	    identity_take(&start->spec->ids, &err) < 0 || populate(&payload, &err) < 0 ||
	    lockdown_groups(&payload.lockdown, groups.items, groups.count, &err) < 0 ||
	    set_quotas(&payload, &err) < 0 || send_groups(&payload, &groups, &err) < 0)
		fail(&payload, &err);
	_exit(0);
}

static int wait_for_release(const struct payload *payload)
{
	char byte;
	ssize_t got;

	do {
		got = read(payload->release_fd, &byte, 1);
	} while (got < 0 && errno == EINTR);
	return got == 1 ? 0 : -1;
}

static int enter_directory(const char *directory, struct error *err)
{
	char path[PATH_MAX];

	if (chdir(directory) < 0)
		return error_errno(err, ERROR_HOST, "working directory %s", directory);
	/* A directory outside the new root would show up as "(unreachable)". */
	if (syscall(SYS_getcwd, path, sizeof(path)) < 0 || path[0] != '/')
		return error_set(err, ERROR_INTERNAL, "working directory is outside");
	return 0;
}

/* What a start knows from its spec, one that waited learns from the caller that it was handed to. */
static int learn_command(struct payload *payload, struct ready_command *ret_command,
			 struct error *err)
{
	const struct spec *spec = payload->start->spec;

	if (!payload->io.waits) {
		*ret_command = (struct ready_command){ spec->cwd, spec->command, spec->env };
		/* This process ends by exec: its copy goes with all of its memory. */
		if (payload->io.secrets)
			secrets_add_variables(payload->io.secrets, &ret_command->env);
		return 0;
	}
	if (ready_await(payload->start->payload_fd, &payload->io, ret_command, err) < 0 ||
	    set_limits(payload, err) < 0)
		return -1;
	return take_descriptors(payload, err);
}

/* Nothing but the three, with a score the fourth, and what is handed over, reaches the command. */
static int keep_descriptors(const struct launch_io *io)
{
	if (io->has_score && fcntl(STDERR_FILENO + 1, F_SETFD, 0) < 0)
		return -1;
	if (close_range(STDERR_FILENO + 1 + io->has_score, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -1;
	return io->passed_fds ? passed_fds_keep(io->passed_fds) : 0;
}

_Noreturn void payload_main(const struct start *start, int release_fd)
{
	struct payload payload = { .start = start,
				   .names_fds = { -1, -1 },
				   .release_fd = release_fd,
				   .lockdown = { .start = start, .proc_fd = -1 } };
	struct message ready = { .kind = MESSAGE_EXEC };
	struct ready_command command;
	struct error err = { 0 };

	close(start->control_fd);
	/* Where init's change of root finds us and takes us along. */
	if (chdir("/") < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
		error_errno(&err, ERROR_HOST, "cannot enter /");
		fail(&payload, &err);
	}
	if (seal(&payload, &err) < 0)
		fail(&payload, &err);
	if (wait_for_release(&payload) < 0)
		_exit(125); /* init failed and has reported why */
	if (learn_command(&payload, &command, &err) < 0 ||
	    enter_directory(command.directory, &err) < 0 ||
	    terminal_attach(&payload.io, start->payload_fd, &err) < 0)
		fail(&payload, &err);
	if (start->landlock_abi >= 2 && !bench_skip("landlock") &&
	    !(payload.io.passed_fds && payload.io.passed_fds->locks_itself) &&
	    landlock_apply(start->landlock_abi, payload.io.passed_fds != NULL) < 0) {
		error_errno(&err, ERROR_DENIED, "cannot apply Landlock");
		fail(&payload, &err);
	}
	if (rlimit_step_back(&start->spec->limits) < 0) {
		error_errno(&err, ERROR_HOST, "cannot lower the priority");
		fail(&payload, &err);
	}
	if (keep_descriptors(&payload.io) < 0) {
		error_errno(&err, ERROR_HOST, "cannot close descriptors");
		fail(&payload, &err);
	}
	ready.at_ns = clock_now_ns();
	if (handshake_send(start->payload_fd, &ready, NULL, 0) < 0)
		_exit(125); /* the supervisor is gone */
	/* Last of all: it may take away what we still needed. */
	if (payload.io.extra_filter && seccomp_load(payload.io.extra_filter, false, NULL) < 0) {
		error_errno(&err, ERROR_DENIED, "cannot load the filter of %s",
			    start->spec->seccomp);
		fail(&payload, &err);
	}
	if (payload.io.passed_fds)
		passed_fds_exec(payload.io.passed_fds, &command.words, &command.env, &err);
	else
		command_exec(&command.words, &command.env, &err);
	fail(&payload, &err);
}
