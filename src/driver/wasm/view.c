/* SPDX-License-Identifier: Apache-2.0 */
/* The maker of views: one overlay over the workspace each time it is asked. */
#include "driver/wasm/view.h"

#include "base/process/child.h"
#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "confine/root/mount.h"
#include "confine/root/root_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct maker {
	const struct spec *spec;
	int userns_fd; /* for root: what shows the host's ids as the sandbox's; else -1 */
	int client_fd;
};

/* What comes with an answer; an error has no descriptors. */
enum { ANSWER_WORKSPACE, ANSWER_CWD, ANSWER_UPPER, ANSWER_MOUNT, ANSWER_COUNT };

bool view_fits(const struct spec *spec)
{
	/* Other mounts in the workspace would be missing in the view. */
	for (size_t i = 0; i < spec->tree_count; i++) {
		if (spec->trees[i].kind != TREE_HIDDEN &&
		    strcmp(spec->trees[i].path, spec->workspace) != 0 &&
		    path_is_within(spec->trees[i].path, spec->workspace))
			return false;
	}
	return spec->root != ROOT_PROJECT &&
	       (spec->root == ROOT_IDMAPPED || spec->ids.count == 1) && !spec->workspace_made &&
	       spec->bind_count == 0 && !spec->upper_dir && spec->layers.count == 0 &&
	       path_is_within(spec->cwd, spec->workspace);
}

static int write_map(int proc_fd, const char *file, unsigned inside, unsigned outside,
		     unsigned count)
{
	char map[64];

	(void)snprintf(map, sizeof(map), "%u %u %u\n", inside, outside, count);
	return file_write_small(proc_fd, file, map);
}

/* A user namespace with the sandbox's ids, for the sake of its map: its creator is not needed any more. */
static int open_userns(const struct spec_ids *ids, int *ret_fd, struct error *err)
{
	owned(fd_close) int proc_fd = -1;
	owned(fd_close) int ready_fd = -1;
	pid_t pid = child_fork(CHILD_WRITES, SIGKILL, &ready_fd, err);
	char path[32];
	int status = -1;

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) == 0 && write(ready_fd, "", 1) == 1)
			(void)pause();
		_exit(1);
	}
	if (pid < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	if (read(ready_fd, path + sizeof(path) - 1, 1) == 1) {
		proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (write_map(proc_fd, "uid_map", 0, ids->host_uid, ids->count) == 0 &&
		    write_map(proc_fd, "gid_map", 0, ids->host_gid, ids->count) == 0) {
			*ret_fd = openat(proc_fd, "ns/user", O_RDONLY | O_CLOEXEC);
			status = *ret_fd < 0 ? -1 : 0;
		}
	}
	if (status < 0)
		error_errno(err, ERROR_HOST, "cannot make a user namespace");
	child_end(pid);
	return status;
}

/* Where a plain user may mount. */
static int enter_userns(const struct spec_ids *ids, struct error *err)
{
	owned(fd_close) int proc_fd = -1;

	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a user namespace");
	proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file_write_small(proc_fd, "setgroups", "deny") < 0 ||
	    write_map(proc_fd, "uid_map", ids->uid, ids->host_uid, 1) < 0 ||
	    write_map(proc_fd, "gid_map", ids->gid, ids->host_gid, 1) < 0)
		return error_errno(err, ERROR_HOST, "cannot map ids");
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

static int open_parts(const struct spec *spec, struct root_parts *parts, int ret[ANSWER_COUNT],
		      struct error *err)
{
	const char *below = spec->cwd + strlen(spec->workspace);
	owned(fd_close) int place = -1;
	char path[40];

	ret[ANSWER_MOUNT] = fd_take(&parts->items[0].mount_fd);
	ret[ANSWER_UPPER] = fd_take(&parts->upper_fd);
	ret[ANSWER_WORKSPACE] = openat(ret[ANSWER_MOUNT], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place = open_inside(ret[ANSWER_MOUNT], spec->workspace[1] ? below : spec->cwd);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	ret[ANSWER_CWD] = place < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret[ANSWER_WORKSPACE] < 0 || ret[ANSWER_CWD] < 0)
		return error_errno(err, ERROR_HOST, "%s", spec->cwd);
	return 0;
}

static int make(const struct maker *maker, struct root_parts *parts, int ret[ANSWER_COUNT],
		struct error *err)
{
	const struct spec *spec = maker->spec;
	struct root_builder builder;

	unit_begin(&builder, spec, parts, maker->userns_fd);
	if (unit_storage(&builder, err) < 0 ||
	    unit_add_overlay(&builder, spec->workspace, spec->workspace, true, err) < 0)
		return -1;
	return open_parts(spec, parts, ret, err);
}

static void answer(const struct maker *maker)
{
	/* Behind the answer: closing what lies under an overlay takes its time. */
	owned(root_parts_done) struct root_parts parts;
	int fds[ANSWER_COUNT] = { -1, -1, -1, -1 };
	struct error err = { .code = ERROR_NONE };
	int status;

	root_parts_init(&parts);
	status = make(maker, &parts, fds, &err);
	(void)fd_send(maker->client_fd, &err, sizeof(err), fds, status < 0 ? 0 : ANSWER_COUNT);
	for (size_t i = 0; i < ANSWER_COUNT; i++)
		fd_close(&fds[i]);
}

static _Noreturn void maker_main(struct maker *maker, pid_t parent)
{
	struct error err = { .code = ERROR_NONE };
	char byte;
	int status;

	fd_close_others((const int[]){ 0, 1, 2, maker->client_fd }, 4);
	(void)prctl(PR_SET_NAME, "aisbx-view", 0, 0, 0);
	umask(0);
	status = maker->spec->root == ROOT_IDMAPPED
			 ? open_userns(&maker->spec->ids, &maker->userns_fd, &err)
			 : enter_userns(&maker->spec->ids, &err);
	/* Again: a change of ids or capabilities undoes it. */
	parent_end_follow(parent, SIGKILL);
	while (status == 0 && recv(maker->client_fd, &byte, 1, 0) == 1)
		answer(maker);
	if (status < 0)
		(void)fd_send(maker->client_fd, &err, sizeof(err), NULL, 0);
	_exit(status < 0);
}

int view_maker_start(const struct spec *spec, struct view_maker *ret_maker, struct error *err)
{
	pid_t parent = getpid();
	int fd;
	pid_t pid = child_fork(CHILD_TALKS, SIGKILL, &fd, err);

	if (pid == 0) {
		struct maker maker = { spec, -1, fd };

		maker_main(&maker, parent);
	}
	if (pid < 0)
		return -1;
	*ret_maker = (struct view_maker){ pid, fd };
	return 0;
}

void view_maker_end(struct view_maker *maker)
{
	if (maker->pid <= 0)
		return;
	fd_close(&maker->fd);
	child_end(maker->pid);
	maker->pid = 0;
}

int view_make(const struct view_maker *maker, struct view *ret_view, struct error *err)
{
	struct error told;
	int fds[ANSWER_COUNT];
	size_t count = 0;
	ssize_t got;

	if (send(maker->fd, "", 1, MSG_NOSIGNAL) != 1)
		return error_errno(err, ERROR_HOST, "the maker of views is gone");
	do
		got = fd_receive(maker->fd, &told, sizeof(told), fds, ANSWER_COUNT, &count);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(told))
		return error_set(err, ERROR_HOST, "the maker of views is gone");
	if (count != ANSWER_COUNT) {
		*err = told;
		return -1;
	}
	*ret_view = (struct view){ .workspace_fd = fds[ANSWER_WORKSPACE],
				   .cwd_fd = fds[ANSWER_CWD],
				   .upper_fd = fds[ANSWER_UPPER],
				   .mount_fd = fds[ANSWER_MOUNT] };
	return 0;
}

void view_done(struct view *view)
{
	fd_close(&view->workspace_fd);
	fd_close(&view->cwd_fd);
	fd_close(&view->upper_fd);
	fd_close(&view->mount_fd);
}
