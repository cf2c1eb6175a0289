/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of the sandbox gives up for good, step by step. */
#include "launch/setup/lockdown.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "confine/capability.h"
#include "confine/cgroup.h"
#include "confine/seccomp/seccomp.h"
#include "launch/setup/handshake.h"
#include "launch/setup/identity.h"
#include "launch/setup/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int lockdown_session(const struct lockdown *lockdown, struct error *err)
{
	int proc_fd = lockdown->proc_fd;

	if (identity_take(&lockdown->start->spec->ids, err) < 0)
		return -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setsid() < 0)
		return error_errno(err, ERROR_HOST, "no session of its own");
	/* The caller's keys stay behind; a kernel without keyrings has none to leak. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return error_errno(err, ERROR_HOST, "no keyring of its own");
	/* Its own files in /proc belong to it only while it is dumpable. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ||
	    file_write_small(proc_fd, "self/oom_score_adj", "500") < 0)
		return error_errno(err, ERROR_HOST, "cannot set oom_score_adj");
	(void)file_write_small(proc_fd, "self/coredump_filter", "0");
	return 0;
}

int lockdown_groups(struct lockdown *lockdown, const int *enter_fds, size_t count,
		    struct error *err)
{
	if (cgroup_enter(enter_fds, count) < 0)
		return error_errno(err, ERROR_HOST, "cannot enter the control group");
	if (unshare(CLONE_NEWCGROUP) < 0) {
		if (lockdown->start->spec->require & 1u << LAYER_CGROUP)
			return error_errno(err, ERROR_DENIED,
					   "layer cgroup is required, but does not hold here");
		lockdown->missing |= 1u << LAYER_CGROUP;
	}
	lockdown->has_group = count > 0;
	return 0;
}

int lockdown_privileges(struct error *err)
{
	if (capability_lock() < 0 || capability_drop() < 0)
		return error_errno(err, ERROR_HOST, "cannot drop capabilities");
	if (capability_assert_none() < 0)
		return error_set(err, ERROR_INTERNAL, "capabilities are left");
	return 0;
}

int lockdown_init_privileges(const struct spec *spec, struct error *err)
{
	if (!spec_may_change_ids(spec))
		return lockdown_privileges(err);
	if (capability_lock() < 0 || capability_keep_ids() < 0)
		return error_errno(err, ERROR_HOST, "cannot drop capabilities");
	if (capability_assert_ids() < 0)
		return error_set(err, ERROR_INTERNAL, "capabilities are left");
	return 0;
}

/*
 * The supervisor can inspect all processes inside: when it stops a run, and now and then where no cgroup counts (there
 * RLIMIT_NPROC is the wall). It is not asked before each new process: a signal that arrives before it is notified makes
 * fork return EINTR, which shells take for the end.
 */
static int prepare_counting(const struct lockdown *lockdown, struct error *err)
{
	const struct message message = { .kind = MESSAGE_PROC };
	bool is_held =
		!lockdown->start->spec->resident; /* by init, which outlives it (populate.h) */
	owned(fd_close) int within =
		is_held ? openat(lockdown->proc_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (is_held && within < 0)
		return error_errno(err, ERROR_HOST, "start: cannot open a proc");
	if (handshake_send(lockdown->start->payload_fd, &message,
			   is_held ? &within : &lockdown->proc_fd, 1) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}

static bool writes_through(const struct spec *spec)
{
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (spec->binds[i].through)
			return true;
	}
	return false;
}

/*
 * Without a listener (one is active around us already) refusals are answered by the filter and not reported. To observe
 * takes one, behind a filter that refuses by itself: the kernel obeys the stricter of two answers.
 */
static int load_filters(const struct launch_io *io, unsigned variant, int *ret_listener)
{
	unsigned reporting = variant | SECCOMP_VARIANT_NOTIFY;

	if (io->observes)
		return seccomp_load(seccomp_builtin(variant), false, NULL) < 0
			       ? -1
			       : seccomp_load(io->calls, true, ret_listener);
	if (io->calls)
		return seccomp_load_narrowed(io->calls, reporting, true, ret_listener) < 0
			       ? seccomp_load_narrowed(io->calls, variant, false, NULL)
			       : 0;
	return seccomp_load(seccomp_builtin(reporting), true, ret_listener) < 0
		       ? seccomp_load(seccomp_builtin(variant), false, NULL)
		       : 0;
}

int lockdown_filter(const struct lockdown *lockdown, struct error *err)
{
	struct message message = { .kind = MESSAGE_LISTENER, .missing = lockdown->missing };
	const struct spec *spec = lockdown->start->spec;
	unsigned variant = spec->splice ? SECCOMP_VARIANT_SPLICE : 0;
	owned(fd_close) int listener = -1;

	if (prepare_counting(lockdown, err) < 0)
		return -1;
	/* Overlays of a plain user refuse to rename directories by themselves. */
	if (!root_is_idmapped(spec->root) &&
	    (lockdown->start->storage || spec->upper_dir || storage_fits_tmpfs()))
		variant |= SECCOMP_VARIANT_MOVES;
	if (writes_through(spec) && seccomp_load(seccomp_no_set_id(), false, NULL) < 0)
		return error_errno(err, ERROR_DENIED, "cannot load the filter of --rw-through");
	if (load_filters(lockdown->start->io, variant, &listener) < 0)
		return error_errno(err, ERROR_DENIED, "cannot load the system call filter");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		return error_set(err, ERROR_INTERNAL, "the system call filter is not in force");
	if (handshake_send(lockdown->start->payload_fd, &message, &listener, listener >= 0) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}

void lockdown_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
