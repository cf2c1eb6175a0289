/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming the user that the sandbox shows. */
#include "launch/setup/identity.h"

#include "confine/capability.h"

#include <grp.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int identity_take(const struct spec_ids *ids, struct error *err)
{
	/* A map of one id comes with setgroups denied: groups stay, shown as unmapped. */
	if (ids->count == 1)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(ids->gid, ids->gid, ids->gid) < 0 ||
	    setresuid(ids->uid, ids->uid, ids->uid) < 0)
		return error_errno(err, ERROR_HOST, "cannot become uid %u inside", ids->uid);
	return 0;
}

/* By the kernel's calls: a C library's would have all threads of a program follow, and these share their memory with init. */
static int become(const struct identity *user, struct error *err)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, user->gid, user->gid, user->gid) < 0 ||
	    syscall(SYS_setresuid, user->uid, user->uid, user->uid) < 0)
		return error_errno(err, ERROR_HOST, "cannot become uid %u inside", user->uid);
	/* The kernel has just set it as it does for set-id programs, for init, too. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot protect init");
	return 0;
}

int identity_leave_init(const struct spec *spec, const struct identity *user, struct error *err)
{
	if (!spec_may_change_ids(spec))
		return 0;
	if (user && become(user, err) < 0)
		return -1;
	if (capability_drop() < 0)
		return error_errno(err, ERROR_HOST, "cannot drop capabilities");
	if (!capability_sets_are_empty())
		return error_set(err, ERROR_INTERNAL, "capabilities are left");
	return 0;
}

/* What the kernel takes back with any change of ids: init's memory is not to be read, and we end with the supervisor. */
static void restore_init(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

void identity_look_as(const struct spec *spec, const struct identity *user)
{
	if (!spec_may_change_ids(spec))
		return;
	(void)setfsgid(user->gid);
	(void)setfsuid(user->uid);
	restore_init();
}

void identity_look_back(const struct spec *spec)
{
	const struct identity own = { spec->ids.uid, spec->ids.gid };

	identity_look_as(spec, &own);
}
