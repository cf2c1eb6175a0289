/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The landlock driver: for places that have no user namespaces.
 *
 * The command works in a private copy of the workspace and can write nowhere else; it reads what the plan shows. Landlock
 * holds files, TCP, signals and abstract sockets, a second filter what Landlock does not see (copied_filter.c).
 */
#include "driver/landlock/landlock_parts.h"

#include "base/core/own.h"
#include "confine/landlock.h"
#include "observe/descendants.h"

#include <fcntl.h>
#include <unistd.h>

/* Scoped signals and abstract sockets: without them every process of the caller could be ended. */
#define ABI_NEEDED 6

extern const struct driver driver_landlock;

static int landlock_probe(struct error *err)
{
	int abi = landlock_abi();

	if (abi < ABI_NEEDED)
		return error_advise(err, ERROR_DENIED, "Linux 6.12 or later, with lsm=landlock",
				    "Landlock has ABI %d here, and %d is needed", abi, ABI_NEEDED);
	if (!descendants_are_known())
		return error_set(err, ERROR_DENIED,
				 "this kernel does not tell the children of a process");
	return 0;
}

static int landlock_check(const struct spec *spec, struct error *err)
{
	return copied_check(&driver_landlock, spec, err);
}

/* In the supervisor: the plan's masks are many, and the payload has no heap to spare. */
static int prepare(struct copied_task *task, struct error *err)
{
	static const char *const own[] = { "ws", "home", "tmp" };

	task->own_fd = landlock_ruleset();
	if (task->own_fd < 0)
		return error_errno(err, ERROR_DENIED, "cannot make a Landlock ruleset");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		owned(fd_close) int fd = openat(task->area_fd, own[i],
						O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0 || landlock_allow(task->own_fd, fd, LANDLOCK_OWN) < 0)
			return error_errno(err, ERROR_DENIED, "cannot add a Landlock rule");
	}
	return grants_add(task->own_fd, task->spec, err);
}

static int enter(struct copied_task *task, struct error *err)
{
	return copied_own_mounts(task, err);
}

static int lock(struct copied_task *task, int *ret_listener_fd, struct error *err)
{
	if (landlock_restrict(task->own_fd) < 0)
		return error_errno(err, ERROR_DENIED, "cannot apply Landlock");
	return copied_filter(task, ret_listener_fd, err);
}

static const struct copied_wall wall = {
	.driver = &driver_landlock,
	.prepare = prepare,
	.enter = enter,
	.lock = lock,
	.handle_events = attribute_handle,
};

static int landlock_start(const struct spec *spec, const struct driver_io *io,
			  struct task **ret_task, struct error *err)
{
	return copied_start(&wall, spec, io, ret_task, err);
}

const struct driver driver_landlock = {
	.name = "landlock",
	.summary = "a private copy of the workspace, the rest of this machine read-only, no "
		   "namespaces",
	.isolation = "landlock",
	.strength = DRIVER_WEAK,
	.lacks = "namespaces of its own: names and metadata of hidden files, processes and "
		 "interfaces are "
		 "seen; no network at all, not even its own; /proc and /tmp are shut; memory, "
		 "processes and "
		 "disk by sampling; sandboxes that stay; fifos of this machine that are shown can "
		 "be "
		 "read",
	.degraded = 1u << LAYER_USER | 1u << LAYER_MOUNT | 1u << LAYER_PID | 1u << LAYER_NET |
		    1u << LAYER_IPC | 1u << LAYER_UTS | 1u << LAYER_CGROUP | 1u << LAYER_OVERLAY |
		    1u << LAYER_MASKS | 1u << LAYER_LIMITS | 1u << LAYER_DISK,
	.probe = landlock_probe,
	COPIED_VTABLE(landlock_check, landlock_start),
};
