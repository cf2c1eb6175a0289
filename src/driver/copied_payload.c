/* SPDX-License-Identifier: Apache-2.0 */
/* The payload in a private copy: what it gives up, in the order in which each step needs what a later one takes away. */
#include "driver/copied.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "confine/capability.h"
#include "confine/rlimit.h"
#include "launch/setup/command.h"
#include "launch/setup/lockdown.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static _Noreturn void fail(int start_fd, const struct error *err)
{
	(void)fd_send(start_fd, err, sizeof(*err), NULL, 0);
	_exit(error_run_exit_status(err->code));
}

int copied_own_mounts(const struct copied_task *task, struct error *err)
{
	if (task->spec->ids.count <= 1)
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(task->spec->copy_dir, task->area, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, task->area, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV, NULL) < 0)
		return error_errno(err, ERROR_DENIED, "cannot mount the copy of the workspace");
	return 0;
}

const char *const copied_devices[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
				       "/dev/urandom", "/dev/tty",  NULL };

int copied_bind_device(const char *from, const char *at)
{
	/* A device can be written to on a mount that is read-only. */
	if (mount(from, at, NULL, MS_BIND, NULL) < 0)
		return -1;
	return mount(NULL, at, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC,
		     NULL);
}

static int own_session(struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setsid() < 0)
		return error_errno(err, ERROR_HOST, "no session of its own");
	/* The caller's keys stay behind; a kernel without keyrings has none to leak. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
	    errno != EPERM)
		return error_errno(err, ERROR_HOST, "no keyring of its own");
	(void)file_write_small(AT_FDCWD, "/proc/self/oom_score_adj", "500");
	return 0;
}

static int take_streams(const struct copied_task *task, struct error *err)
{
	for (int i = 0; i < 3; i++) {
		int from = task->io.tty[i] ? task->slave_fd : task->io.fds[i];

		if (from >= 0 && dup2(from, i) < 0)
			return error_errno(err, ERROR_HOST, "descriptor %d", i);
	}
	if (task->slave_fd >= 0 && ioctl(task->slave_fd, TIOCSCTTY, 0) < 0)
		return error_errno(err, ERROR_HOST, "no terminal of its own");
	return 0;
}

/* The kernel counts processes per user, not per sandbox: those that are there already come on top. */
static int set_limits(const struct copied_task *task, struct error *err)
{
	struct spec_limits limits = task->spec->limits;
	struct sysinfo info;

	if (limits.pids && sysinfo(&info) == 0)
		limits.pids += info.procs;
	if (limits.disk_bytes && (!limits.fsize_bytes || limits.fsize_bytes > limits.disk_bytes))
		limits.fsize_bytes = limits.disk_bytes;
	if (rlimit_apply(&limits, true) < 0)
		return error_errno(err, ERROR_HOST, "cannot set limits");
	return 0;
}

/* Root's command gets ids that no account has, and no capability. */
static int drop_rights(const struct copied_task *task, struct error *err)
{
	const struct spec_ids *ids = &task->spec->ids;
	uid_t uid = ids->host_uid + ids->uid, gid = ids->host_gid + ids->gid;
	bool is_root = ids->count > 1;

	if (is_root && (capability_lock() < 0 || setgroups(0, NULL) < 0 ||
			setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
		return error_errno(err, ERROR_DENIED, "cannot give up root's rights");
	if (capability_drop() < 0)
		return error_errno(err, ERROR_DENIED, "cannot drop capabilities");
	if (is_root && capability_assert_none() < 0)
		return error_set(err, ERROR_INTERNAL, "capabilities are left");
	/* A change of ids undoes both. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot follow the keeper");
	return 0;
}

static int prepare(struct copied_task *task, struct error *err)
{
	const struct copied_wall *wall = task->wall;

	if (own_session(err) < 0 || take_streams(task, err) < 0 ||
	    (wall->enter && wall->enter(task, err) < 0) || set_limits(task, err) < 0 ||
	    drop_rights(task, err) < 0)
		return -1;
	lockdown_signals();
	umask(022);
	if (rlimit_step_back(&task->spec->limits) < 0)
		return error_errno(err, ERROR_HOST, "cannot lower the priority");
	if (chdir(task->cwd) < 0)
		return error_errno(err, ERROR_HOST, "working directory %s", task->cwd);
	return 0;
}

_Noreturn void copied_payload(struct copied_task *task, int start_fd)
{
	struct error err = { 0 };
	int listener_fd = -1;
	bool has_score = task->io.has_score;

	if (prepare(task, &err) < 0)
		fail(start_fd, &err);
	if (close_range((unsigned)STDERR_FILENO + 1 + has_score, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ||
	    (has_score && fcntl(STDERR_FILENO + 1, F_SETFD, 0) < 0)) {
		error_errno(&err, ERROR_HOST, "cannot close descriptors");
		fail(start_fd, &err);
	}
	if (task->wall->lock && task->wall->lock(task, &listener_fd, &err) < 0)
		fail(start_fd, &err);
	if (listener_fd >= 0 && fd_send(start_fd, "l", 1, &listener_fd, 1) < 0)
		_exit(125); /* the supervisor is gone */
	command_exec(&task->command, &task->env, &err);
	fail(start_fd, &err);
}
