/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The janitor: a small process that outlives the supervisor by milliseconds and removes what must not stay.
 *
 * It waits for the end of a pipe whose other end only the supervisor holds, so it acts the same way whether the supervisor
 * returned, crashed or was killed. It holds the writable layers too: freeing a large tmpfs happens here and not while a
 * caller waits for an answer. Where the sandbox has a time to live, a supervisor that was halted cannot keep it beyond
 * that.
 */
#include "launch/setup/start.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "launch/setup/handshake.h"
#include "launch/setup/storage.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define INIT_END_MS 10000
#define GROUP_END_MS 10000
#define SWEEP_MS 10000
/* What a supervisor gets to end by itself when the sandbox's time is over. */
#define LATE_MS 5000
/* The clock may be set while we wait for it. */
#define CLOCK_LOOK_MS 60000

/* Until the supervisor has something to say, which is its end; one that lets the time go by is ended. */
static void wait_until_late(const struct launch *launch, int watch_fd)
{
	uint64_t late_ms = launch->ends_ms + LATE_MS, now_ms;

	while ((now_ms = clock_epoch_ms()) < late_ms) {
		uint64_t left_ms = late_ms - now_ms;

		if (fd_wait(watch_fd, POLLIN,
			    (int)(left_ms < CLOCK_LOOK_MS ? left_ms : CLOCK_LOOK_MS)) > 0)
			return;
	}
	(void)child_signal(launch->self_fd, SIGKILL);
}

static void keep_group(const struct cgroup *group, int *keep, size_t *count)
{
	for (size_t i = 0; i < group->count; i++) {
		keep[(*count)++] = group->dirs[i];
		keep[(*count)++] = group->parents[i];
	}
	keep[(*count)++] = group->place_fd;
}

/* The sweep may wait for the sandboxes of others; what was ours is not held any longer for that, nor the caller's directory. */
static void let_go(const struct launch *launch)
{
	if (launch->upper_fd >= 0)
		close(launch->upper_fd);
	for (size_t i = 0; i < launch->held.count; i++)
		close(launch->held.fds[i]);
	(void)!chdir("/");
}

_Noreturn void janitor_main(const struct launch *launch, int watch_fd)
{
	int keep[6 + (CGROUP_DIRS_MAX * 2 + 1) * 2 + ROOT_PARTS_MAX * 2] = { watch_fd,
									     launch->init_fd,
									     launch->upper_fd,
									     launch->lock_fds[0],
									     launch->lock_fds[1],
									     launch->self_fd };
	size_t count = 6;

	keep_group(&launch->group, keep, &count);
	keep_group(&launch->gateway_group, keep, &count);
	for (size_t i = 0; i < launch->held.count; i++)
		keep[count++] = launch->held.fds[i];
	fd_close_others(keep, count);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "aisbx-janitor", 0, 0, 0);
	if (launch->self_fd >= 0)
		wait_until_late(launch, watch_fd);
	handshake_await_end(watch_fd);
	(void)child_signal(launch->init_fd, SIGKILL);
	(void)fd_wait(launch->init_fd, POLLIN, INIT_END_MS);
	for (size_t i = 0; i < 2; i++) {
		if (launch->lock_fds[i] >= 0)
			close(launch->lock_fds[i]);
	}
	(void)cgroup_remove(&launch->group, GROUP_END_MS);
	(void)cgroup_remove(&launch->gateway_group, GROUP_END_MS);
	storage_remove(launch->storage);
	let_go(launch);
	cgroup_sweep(&launch->group, SWEEP_MS);
	_exit(0);
}
