/* SPDX-License-Identifier: Apache-2.0 */
/* The clone that makes a sandbox's init, and all namespaces but the network with it. */
#include "launch/start/clone_init.h"

#include "base/process/parent_end.h"
#include "base/process/process.h"
#include "launch/setup/handshake.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The network namespace is made by the payload: it costs as much as all others and overlaps with the mounts there. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

/* What a sandbox can be built without, by the caller's leave; everything else leans on the others. */
static const struct {
	uint64_t flag;
	enum layer layer;
} dispensable[] = {
	{ CLONE_NEWIPC, LAYER_IPC },
	{ CLONE_NEWUTS, LAYER_UTS },
};

#define DISPENSABLE (sizeof(dispensable) / sizeof(dispensable[0]))

static int make_sockets(struct launch *launch, struct start *start, struct error *err)
{
	int control[2], payload[2];

	if (handshake_pair(control, err) < 0)
		return -1;
	launch->control_fd = start->supervisor_control_fd = control[0];
	start->control_fd = control[1];
	if (handshake_pair(payload, err) < 0) {
		close(control[1]);
		return -1;
	}
	launch->payload_fd = start->supervisor_payload_fd = payload[0];
	start->payload_fd = payload[1];
	return 0;
}

static int refusal(struct error *err)
{
	/* The filter around us answers so that C libraries fall back to what it can judge. */
	if (errno == ENOSYS && getenv("AISBX_SANDBOX"))
		return error_set(err, ERROR_DENIED,
				 "this is a sandbox already, and there is none inside another: run "
				 "aisbx outside");
	if (errno == ENOSPC)
		return error_set(err, ERROR_DENIED,
				 "namespaces are used up here: raise user.max_user_namespaces, or "
				 "the one that `aisbx doctor` names");
	if (errno == EPERM || errno == EACCES)
		return error_advise(err, ERROR_DENIED, "`aisbx doctor` says what to do",
				    "this kernel refuses user namespaces to you");
	return error_errno(err, ERROR_HOST, "%s",
			   errno == EAGAIN ? PROCESS_REFUSED : "cannot make namespaces");
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

/* The pid; in the child it does not return. -1 with errno. */
static long clone_with(uint64_t namespaces, int *ret_pidfd, const struct start *start)
{
	struct clone_args args = {
		.flags = namespaces | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		init_main(start);
	return pid;
}

static bool is_refusal(void)
{
	return errno == EINVAL || errno == ENOSPC || errno == EPERM;
}

/* With as many namespaces as there can be: all, or all but one that the caller would do without, or but two. */
static long clone_most(struct launch *launch, struct start *start, uint32_t may_lack)
{
	long pid = clone_with(NAMESPACES, &launch->init_fd, start);

	/* Only errors that mean that there is none: memory may be available the next moment. */
	for (unsigned set = 1; pid < 0 && is_refusal() && set < 1u << DISPENSABLE; set++) {
		uint64_t without = 0;

		start->missing = 0;
		for (unsigned i = 0; i < DISPENSABLE; i++) {
			if (set >> i & 1) {
				without |= dispensable[i].flag;
				start->missing |= 1u << dispensable[i].layer;
			}
		}
		if (!(start->missing & ~may_lack))
			pid = clone_with(NAMESPACES & ~without, &launch->init_fd, start);
	}
	return pid;
}

int clone_init(struct launch *launch, struct start *start, const struct spec_ids *ids,
	       uint32_t may_lack, struct error *err)
{
	struct parent_end wish;

	if (make_sockets(launch, start, err) < 0)
		return -1;
	parent_end_note(&wish);
	bool lent = lend_uid(ids);
	long pid = clone_most(launch, start, may_lack);
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
	launch->missing |= start->missing;
	return 0;
}
