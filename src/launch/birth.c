/* The clone that makes a sandbox's init, and all namespaces but the network with it. */
#include "launch/birth.h"

#include "base/parent_end.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The network namespace is made by the payload: it costs as much as all others and overlaps with the mounts there. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

static int refusal(struct error *err)
{
	if (errno == ENOSPC)
		return error_set(
			err, ERROR_DENIED,
			"user namespaces are used up here: raise user.max_user_namespaces");
	if (errno == EPERM || errno == EACCES)
		return error_set(err, ERROR_DENIED,
				 "this kernel refuses user namespaces to you; "
				 "`aisbx doctor` says what to do");
	return error_errno(err, ERROR_HOST, "cannot make namespaces");
}

/*
 * What a namespace uses up (signals queued, inotify instances, watches) is charged to its maker as well. Root makes it
 * with the sandbox's own id, so that the quotas of the host's root stay whole. Capabilities are kept meanwhile.
 */
static bool lend_uid(const struct spec_ids *ids)
{
	if (ids->count == 1 || prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return false;
	return setresuid((uid_t)-1, ids->host_uid, (uid_t)-1) == 0;
}

int birth_init(struct launch *launch, const struct start *start, struct error *err)
{
	struct clone_args args = {
		.flags = NAMESPACES | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uintptr_t)&launch->init_fd,
		.exit_signal = SIGCHLD,
	};
	struct parent_end wish;

	parent_end_note(&wish);
	bool lent = lend_uid(&start->spec->ids);
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		init_main(start);
	int saved = errno;

	if (lent)
		(void)!setresuid((uid_t)-1, 0, (uid_t)-1);
	parent_end_renew(&wish);
	errno = saved;
	close(start->control_fd);
	close(start->payload_fd);
	if (start->inside_fd >= 0)
		close(start->inside_fd);
	if (pid < 0)
		return refusal(err);
	launch->init_pid = (pid_t)pid;
	return 0;
}
