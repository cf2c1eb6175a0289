/* SPDX-License-Identifier: Apache-2.0 */
/* The root of the clone: attaching its parts and moving into it. */
#include "confine/root/root.h"

#include "base/core/own.h"
#include "confine/root/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How often root_await_top looks before it sleeps between two looks. */
#define YIELDS_MAX 100
#define THREAD_STACK 16384

void root_parts_init(struct root_parts *parts)
{
	/* Not the arrays: twelve kilobytes of which little is used. */
	parts->count = parts->held.count = 0;
	parts->upper_fd = -1;
	parts->may_lack_places = false;
	parts->unit_paths = (struct strv)STRV_INIT;
	parts->overlays = (struct root_overlays){ 0 };
}

void root_held_done(struct root_held *held)
{
	while (held->count > 0)
		close(held->fds[--held->count]);
}

void root_parts_done(struct root_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		fd_close(&parts->items[i].mount_fd);
		free(parts->items[i].target);
	}
	fd_close(&parts->upper_fd);
	root_held_done(&parts->held);
	root_overlays_done(&parts->overlays);
	strv_done(&parts->unit_paths);
	parts->count = 0;
}

/* What the sandbox has removed or replaced stays so, also if the host mounts something there by now. */
static bool is_place_gone(int errnum)
{
	/* The last one is what a symbolic link gives. */
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == EINVAL;
}

int root_attach(const struct root_parts *parts, int *ret_root_fd, struct error *err)
{
	owned(fd_close) int root_fd = -1;

	if (parts->count == 0)
		return error_set(err, ERROR_INTERNAL, "the new root has no parts");
	if (mount_park(parts->items[0].mount_fd, err) < 0)
		return -1;
	root_fd = openat(parts->items[0].mount_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the new root");
	for (size_t i = 1; i < parts->count; i++) {
		if (mount_attach(parts->items[i].mount_fd, root_fd, parts->items[i].target, err) <
			    0 &&
		    !(parts->may_lack_places && is_place_gone(err->errnum)))
			return -1;
	}
	*ret_root_fd = fd_take(&root_fd);
	return 0;
}

int root_pivot(int root_fd, struct error *err)
{
	if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return error_errno(err, ERROR_HOST, "cannot change to the new root");
	if (chdir("/") < 0)
		return error_errno(err, ERROR_HOST, "cannot enter the new root");
	return 0;
}

/* What is stacked on the root is found by stepping up from it. The number tells mounts apart that show the same. */
static int is_top(bool *ret_is_top)
{
	struct statx root, above;

	if (statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &root) < 0 ||
	    statx(AT_FDCWD, "/..", 0, STATX_MNT_ID, &above) < 0)
		return -1;
	if (!(root.stx_mask & above.stx_mask & STATX_MNT_ID)) {
		errno = ENOSYS;
		return -1;
	}
	*ret_is_top = root.stx_mnt_id == above.stx_mnt_id;
	return 0;
}

int root_await_top(struct error *err)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	bool is_alone = false;

	for (unsigned i = 0;; i++) {
		if (is_top(&is_alone) < 0)
			return error_errno(err, ERROR_HOST, "cannot check /");
		if (is_alone)
			return 0;
		/* A matter of microseconds, and sleeping takes a multiple of them. */
		if (i < YIELDS_MAX)
			(void)sched_yield();
		else
			(void)nanosleep(&pause, NULL);
	}
}

/* Shares errno with us: nothing here may need it. */
static int take_old_away(void *unused)
{
	(void)unused;
	if (umount2("/", MNT_DETACH) < 0)
		(void)syscall(SYS_exit_group, 1);
	return (int)syscall(SYS_exit, 0);
}

/*
 * The old root is gone at once, but the call returns only when all processors have taken notice (RCU), which need not
 * delay the start: a thread waits instead. Making that takes its time, too: root_await_top comes later.
 */
int root_let_go(struct error *err)
{
	static char stack[THREAD_STACK] __attribute__((aligned(16)));
	const int flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	sigset_t all, before;
	int thread;

	/* A signal that it took would be lost to us: the end of a child, say. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	thread = clone(take_old_away, stack + sizeof(stack), flags, NULL);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (thread < 0 && umount2("/", MNT_DETACH) < 0)
		return error_errno(err, ERROR_HOST, "cannot let go of the host's root");
	return 0;
}
