/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of a command in a private copy of its workspace. */
#include "driver/copied.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/text/clean_path.h"
#include "driver/keeper.h"
#include "observe/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long the end of all that was killed is waited for. */
#define END_MS 5000

static struct copied_task *copied_of(struct task *task)
{
	return (struct copied_task *)task;
}

int copied_check(const struct driver *driver, const struct spec *spec, struct error *err)
{
	const char *name = driver->name;

	for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
		if (spec->require & driver->degraded & 1u << layer)
			return error_set(err, ERROR_DENIED,
					 "--require %s: the %s driver does not have that layer",
					 layer_name((enum layer)layer), name);
	}
	if (spec->net == NET_ALLOW)
		return error_advise(err, ERROR_DENIED,
				    "leave out --allow and --net, or use --driver linux",
				    "the %s driver has no network", name);
	if (spec->resident)
		return error_advise(err, ERROR_DENIED, "use `run --keep`, or --driver linux",
				    "the %s driver keeps no sandbox between commands", name);
	if (spec->bind_count > 0 || spec->seccomp || spec->syscalls.count > 0 || spec->cache ||
	    spec->gpu.count > 0)
		return error_advise(err, ERROR_DENIED, "leave it out, or use --driver linux",
				    "%s: not with the %s driver",
				    spec->bind_count > 0       ? "--ro, --rw"
				    : spec->seccomp	       ? "--seccomp"
				    : spec->syscalls.count > 0 ? "syscalls of a profile"
				    : spec->cache	       ? "--cache"
							       : "--gpu",
				    name);
	return driver->probe ? driver->probe(err) : 0;
}

void copied_free(struct task *base)
{
	struct copied_task *task = copied_of(base);

	if (task->wall->release)
		task->wall->release(task);
	/* Closing this ends whatever is left; the keeper ends when all of it has. */
	fd_close(&task->keeper_fd);
	if (task->keeper_pid > 0)
		(void)child_wait(task->keeper_pid);
	fd_close(&task->start_fd);
	fd_close(&task->listener_fd);
	fd_close(&task->slave_fd);
	fd_close(&task->own_fd);
	fd_close(&task->area_fd);
	fd_close(&task->epoll_fd);
	fd_close(&base->pty_master);
	strv_done(&task->command);
	strv_done(&task->env);
	strv_done(&base->layers);
	strv_done(&base->upper_paths);
	denials_done(&base->denials);
	free(task->area);
	free(task->cwd);
	free(task);
}

static void set_variable(struct copied_task *task, const char *name, const char *value)
{
	owned(free_ptr) char *pair = xasprintf("%s=%s", name, value);

	settings_add_env(&task->env, pair);
}

/* Where things are for the payload. A root caller's gets other ids, which reach the store by a mount of its own only. */
static void place(struct copied_task *task)
{
	const struct spec *spec = task->spec;
	const char *below = spec->cwd + strlen(spec->workspace);
	owned(free_ptr) char *home = NULL, *tmp = NULL;

	strv_copy(&task->command, &spec->command);
	strv_copy(&task->env, &spec->env);
	set_variable(task, "AISBX_WORKSPACE", spec->workspace);
	task->area = xstrdup(spec->ids.count > 1 ? "/tmp" : spec->copy_dir);
	if (!path_is_within(spec->cwd, spec->workspace))
		below = "";
	if (task->wall->keeps_paths) {
		task->cwd = xasprintf("%s%s", spec->workspace, below);
		return;
	}
	task->cwd = xasprintf("%s/ws%s", task->area, below);
	home = xasprintf("%s/home", task->area);
	tmp = xasprintf("%s/tmp", task->area);
	set_variable(task, "HOME", home);
	set_variable(task, "TMPDIR", tmp);
}

/* Not by the payload: it has no way to the device any more. */
static int open_terminal(struct copied_task *task, struct error *err)
{
	const struct winsize size = { .ws_row = task->io.rows, .ws_col = task->io.columns };
	int master;

	if (!task->io.tty[0] && !task->io.tty[1] && !task->io.tty[2])
		return 0;
	master = task->task.pty_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || unlockpt(master) < 0)
		return error_errno(err, ERROR_HOST, "no terminal of its own");
	task->slave_fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (task->slave_fd < 0)
		return error_errno(err, ERROR_HOST, "no terminal of its own");
	(void)ioctl(master, TIOCSWINSZ, &size);
	return 0;
}

static int start_keeper(struct copied_task *task, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "socketpair");
	owned(fd_close) int theirs = ends[1];

	task->start_fd = ends[0];
	task->keeper_pid = child_fork(CHILD_TALKS, 0, &task->keeper_fd, err);
	if (task->keeper_pid == 0)
		copied_keeper_main(task, task->keeper_fd, fd_take(&theirs));
	fd_close(&task->slave_fd);
	if (task->keeper_pid < 0)
		return -1;
	task->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd_watch(task->epoll_fd, task->start_fd) < 0 ||
	    fd_watch(task->epoll_fd, task->keeper_fd) < 0)
		return error_errno(err, ERROR_HOST, "epoll");
	return 0;
}

static void name_layers(struct task *task)
{
	task->degraded = task->driver->degraded;
	for (enum layer layer = LAYER_USER; layer < LAYER_LIMITS; layer++) {
		if (!(task->degraded & 1u << layer))
			strv_add(&task->layers, layer_name(layer));
	}
}

int copied_start(const struct copied_wall *wall, const struct spec *spec,
		 const struct driver_io *io, struct task **ret_task, struct error *err)
{
	struct copied_task *task = xcalloc(1, sizeof(*task));

	task->task = (struct task){ .driver = wall->driver,
				    .pty_master = -1,
				    .upper_fd = -1,
				    .isolation = wall->driver->isolation,
				    .start = "cold" };
	task->wall = wall;
	task->spec = spec;
	task->io = *io;
	task->own_fd = task->slave_fd = task->epoll_fd = task->start_fd = task->keeper_fd =
		task->listener_fd = -1;
	place(task);
	name_layers(&task->task);
	task->area_fd = open(spec->copy_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (task->area_fd < 0) {
		error_errno(err, ERROR_HOST, "the copy of the workspace");
		copied_free(&task->task);
		return -1;
	}
	if (open_terminal(task, err) < 0 || (wall->prepare && wall->prepare(task, err) < 0) ||
	    start_keeper(task, err) < 0) {
		copied_free(&task->task);
		return -1;
	}
	*ret_task = &task->task;
	return 0;
}

int copied_poll_fd(const struct task *base)
{
	return ((const struct copied_task *)base)->epoll_fd;
}

static void end_with(struct copied_task *task, const struct error *err)
{
	if (task->task.error.code == ERROR_NONE)
		task->task.error = *err;
}

static void unwatch(struct copied_task *task, int *fd)
{
	(void)epoll_ctl(task->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
	fd_close(fd);
}

/* The payload sends its listener, or why it cannot go on; the end of the stream means that it was executed. */
static void handle_payload(struct copied_task *task)
{
	struct error told;
	size_t count = 0;
	int fd = -1;
	ssize_t got = fd_receive(task->start_fd, &told, sizeof(told), &fd, 1, &count);

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0) {
		unwatch(task, &task->start_fd);
		if (task->task.error.code == ERROR_NONE && task->task.state == TASK_STARTING) {
			task->task.began_ns = clock_now_ns();
			task->task.state = TASK_RUNNING;
		}
		return;
	}
	if (count == 1) {
		task->listener_fd = fd;
		(void)fd_watch(task->epoll_fd, fd);
	} else if (got == (ssize_t)sizeof(told) && error_is_sane(&told)) {
		end_with(task, &told);
	}
}

static void handle_keeper(struct copied_task *task)
{
	struct keeper_report report;
	struct error gone;
	ssize_t got = recv(task->keeper_fd, &report, sizeof(report), 0);

	if (got < 0 && errno == EINTR)
		return;
	/* Why it did not start may be waiting still. */
	while (task->start_fd >= 0 && fd_wait(task->start_fd, POLLIN, 0) > 0)
		handle_payload(task);
	task->task.state = TASK_ENDED;
	if (got == (ssize_t)sizeof(report)) {
		task->task.wait_status = report.wait_status;
		task->task.ended_ns = report.ended_ns;
		task->used = report.used;
		task->has_used = true;
		return;
	}
	task->task.stopped_by = TASK_KILLED;
	error_set(&gone, ERROR_HOST, "the keeper of its processes was killed");
	end_with(task, &gone);
}

void copied_step(struct task *base)
{
	struct copied_task *task = copied_of(base);
	struct epoll_event events[4];
	int count = epoll_wait(task->epoll_fd, events, 4, 0);

	for (int i = 0; i < count && base->state != TASK_ENDED; i++) {
		int fd = events[i].data.fd;

		if (fd == task->listener_fd && events[i].events & EPOLLIN)
			task->wall->handle_events(task);
		else if (fd == task->listener_fd)
			unwatch(task, &task->listener_fd);
		else if (fd == task->start_fd)
			handle_payload(task);
		else if (fd == task->keeper_fd)
			handle_keeper(task);
	}
}

void copied_end(struct task *base, int sig)
{
	(void)!send(copied_of(base)->keeper_fd, &sig, sizeof(sig), MSG_NOSIGNAL);
}

void copied_kill(struct task *base)
{
	struct copied_task *task = copied_of(base);
	uint64_t until_ns = clock_now_ns() + END_MS * 1000000ull;
	struct task_usage usage;

	if (base->state == TASK_ENDED)
		return;
	/* Processes that are killed are in no rusage: what they used is read while they live. */
	copied_sample(base, &usage);
	task->used = (struct process_used){ usage.cpu_us, usage.peak_memory_bytes };
	copied_end(base, SIGKILL);
	if (fd_wait_until(task->keeper_fd, POLLIN, until_ns) > 0)
		(void)!recv(task->keeper_fd, &(struct keeper_report){ 0 },
			    sizeof(struct keeper_report), 0);
	task->has_used = true;
	base->wait_status = SIGKILL;
	base->state = TASK_ENDED;
}

void copied_sample(struct task *base, struct task_usage *ret_usage)
{
	struct copied_task *task = copied_of(base);
	struct tree_usage tree;

	*ret_usage = (struct task_usage){ 0 };
	if (task->has_used) {
		ret_usage->cpu_us = task->used.cpu_us;
		ret_usage->peak_memory_bytes = task->used.peak_memory_bytes;
	} else {
		descendants_sample(task->keeper_pid, &tree);
		ret_usage->cpu_us = tree.cpu_us;
		ret_usage->memory_bytes = tree.memory_bytes;
		ret_usage->pids = tree.tasks;
		if (tree.memory_bytes > task->peak_memory_bytes)
			task->peak_memory_bytes = tree.memory_bytes;
	}
	if (ret_usage->peak_memory_bytes < task->peak_memory_bytes)
		ret_usage->peak_memory_bytes = task->peak_memory_bytes;
}

void copied_resize(struct task *base, unsigned rows, unsigned columns)
{
	const struct winsize size = { .ws_row = (unsigned short)rows,
				      .ws_col = (unsigned short)columns };

	if (base->pty_master >= 0)
		(void)ioctl(base->pty_master, TIOCSWINSZ, &size);
}
