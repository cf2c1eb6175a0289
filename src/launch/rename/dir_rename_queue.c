/* SPDX-License-Identifier: Apache-2.0 */
/* Renames of a plain user's sandbox, of which the supervisor is notified before they happen. */
#include "launch/rename/dir_rename_queue.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 5.12; a header may lack it. */
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* The call's arguments by meaning. */
struct call {
	pid_t pid;
	int dirs[2];
	uint64_t addresses[2];
	unsigned flags;
};

static struct call read_call(const struct notify_event *event)
{
	const uint64_t *args = event->args;

#ifdef SYS_rename
	if (event->nr == SYS_rename)
		return (struct call){ event->pid, { AT_FDCWD, AT_FDCWD }, { args[0], args[1] }, 0 };
#endif
	return (struct call){ event->pid,
			      { (int)args[0], (int)args[2] },
			      { args[1], args[3] },
			      event->nr == SYS_renameat2 ? (unsigned)args[4] : 0 };
}

/* What a path of the caller starts at. A descriptor that is no directory is for the kernel to refuse. */
static int open_base(pid_t pid, int dir, const char *path)
{
	char link[48];

	if (path[0] == '/')
		(void)snprintf(link, sizeof(link), "/proc/%d/root", pid);
	else if (dir == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, dir);
	return open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Whether the path may be a directory on an overlay. Only what the kernel has in memory is looked at, so that no slow
 * filesystem can hold us up; what would need more is init's to find out.
 */
static bool may_be_directory(int base_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS |
					   (path[0] == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH) };
	owned(fd_close) int fd = (int)syscall(SYS_openat2, base_fd, path, &how, sizeof(how));
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return errno == EAGAIN || errno == EXDEV || errno == EINVAL;
	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static void move_done(struct dir_rename_entry *move)
{
	for (size_t i = 0; i < 2; i++) {
		fd_close(&move->fds[i]);
		free(move->paths[i]);
	}
}

/* Fills what init needs to know. False when the kernel can do, or must refuse, without us. */
static bool look(const struct call *call, struct dir_rename_entry *move)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		if (notify_read_text(call->pid, call->addresses[i], path, sizeof(path)) <= 0)
			return false;
		move->fds[i] = open_base(call->pid, call->dirs[i], path);
		if (move->fds[i] < 0 || (i == 0 && !may_be_directory(move->fds[0], path)))
			return false;
		move->paths[i] = xstrdup(path);
	}
	return true;
}

static int hand_over(const struct dir_rename_entry *move, struct launch *launch)
{
	struct launch_move wish = { move->id,
				    { move->fds[0], move->fds[1] },
				    { move->paths[0], move->paths[1] } };

	return launch_move(launch, &wish);
}

static void drop_first(struct dir_rename_queue *renames)
{
	move_done(&renames->items[0]);
	renames->count--;
	memmove(&renames->items[0], &renames->items[1], renames->count * sizeof(renames->items[0]));
}

/* Gives init the first that it takes; whatever it does not take goes on as it is. */
static void hand_over_first(struct dir_rename_queue *renames, int listener_fd,
			    struct launch *launch)
{
	while (renames->count && hand_over(&renames->items[0], launch) < 0) {
		(void)notify_answer(listener_fd, renames->items[0].id, 0);
		drop_first(renames);
	}
}

void dir_rename_queue_take(struct dir_rename_queue *renames, int listener_fd,
			   const struct notify_event *event, struct launch *launch)
{
	struct dir_rename_entry move = { .id = event->id, .fds = { -1, -1 } };
	struct call call = read_call(event);

	/* An exchange needs both sides prepared: left to the kernel. */
	if (renames->count == MOVES_MAX || call.flags & ~(unsigned)RENAME_NOREPLACE ||
	    !look(&call, &move)) {
		move_done(&move);
		(void)notify_answer(listener_fd, event->id, 0);
		return;
	}
	/* Its number may have been another's while we looked. */
	if (!notify_is_waiting(listener_fd, event->id)) {
		move_done(&move);
		return;
	}
	renames->items[renames->count++] = move;
	if (renames->count == 1)
		hand_over_first(renames, listener_fd, launch);
}

void dir_rename_queue_done(struct dir_rename_queue *renames, int listener_fd, uint64_t id,
			   struct launch *launch)
{
	if (!renames->count || renames->items[0].id != id)
		return;
	if (listener_fd >= 0)
		(void)notify_answer(listener_fd, id, 0);
	drop_first(renames);
	hand_over_first(renames, listener_fd, launch);
}

void dir_rename_queue_free(struct dir_rename_queue *renames)
{
	while (renames->count)
		drop_first(renames);
}
