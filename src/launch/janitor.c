/*
 * The janitor: a small process that outlives the supervisor by milliseconds and removes what must not stay.
 *
 * It waits for the end of a pipe whose other end only the supervisor holds, so it acts the same way whether the
 * supervisor returned, crashed or was killed. It holds the writable layers too: freeing a large tmpfs happens here
 * and not while somebody waits for an answer.
 */
#include "launch/start.h"

#include "base/fd.h"
#include "launch/storage.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INIT_END_MS 10000
#define GROUP_END_MS 10000

static void wait_for_end(int watch_fd)
{
	char byte;
	ssize_t got;

	do {
		got = read(watch_fd, &byte, 1);
	} while (got > 0 || (got < 0 && errno == EINTR));
}

_Noreturn void janitor_main(const struct launch *launch, int watch_fd)
{
	int keep[5 + CGROUP_DIRS_MAX * 2 + ROOT_PARTS_MAX * 2] = { watch_fd, launch->init_fd,
								   launch->upper_fd,
								   launch->lock_fds[0],
								   launch->lock_fds[1] };
	struct pollfd init_end = { .fd = launch->init_fd, .events = POLLIN };
	size_t count = 5;

	for (size_t i = 0; i < launch->group.count; i++) {
		keep[count++] = launch->group.dirs[i];
		keep[count++] = launch->group.parents[i];
	}
	for (size_t i = 0; i < launch->held.count; i++)
		keep[count++] = launch->held.fds[i];
	fd_close_others(keep, count);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "aisbx-janitor", 0, 0, 0);
	wait_for_end(watch_fd);
	(void)syscall(SYS_pidfd_send_signal, launch->init_fd, SIGKILL, NULL, 0);
	(void)poll(&init_end, 1, INIT_END_MS);
	for (size_t i = 0; i < 2; i++) {
		if (launch->lock_fds[i] >= 0)
			close(launch->lock_fds[i]);
	}
	(void)cgroup_remove(&launch->group, GROUP_END_MS);
	cgroup_sweep(&launch->group);
	storage_remove(launch->storage);
	_exit(0);
}
