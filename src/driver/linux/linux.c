/* SPDX-License-Identifier: Apache-2.0 */
/* The linux driver: this machine's namespaces, overlays, filters and groups, through launch. */
#include "driver/linux/linux.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "confine/notify.h"
#include "confine/quota.h"
#include "driver/linux/rules_socket.h"
#include "driver/linux/egress.h"
#include "launch/launch.h"
#include "launch/setup/filters.h"
#include "launch/rename/dir_rename_queue.h"
#include "observe/disk_watch.h"
#include "observe/tree_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/statfs.h>

#define NOTIFICATIONS_PER_STEP 64

struct linux_task {
	struct task task; /* first */
	const struct spec *spec;
	struct launch launch;
	struct launch_io io;
	int epoll_fd;
	int listener_fd;
	struct process_used used;
	bool has_used;
	uint64_t peak_memory_bytes;	 /* seen by sampling, without a cgroup */
	bool was_full, inodes_hit;	 /* the writable layer was seen full: of bytes, of files */
	bool pids_hit;			 /* as many processes as permitted were there at the end */
	struct dir_rename_queue renames; /* renames that wait */
	int kept_fd;			 /* the top of a named sandbox, or -1 */
	struct disk_watch disk;
	struct quota quota; /* of the same, where its filesystem has them */
	struct launch_filters filters;
	struct egress egress;		   /* the network gateway's reports */
	struct rules_socket *rules_socket; /* for changes of its rules, or NULL */
};

static struct linux_task *linux_task_of(struct task *task)
{
	return (struct linux_task *)task;
}

static int watch(struct linux_task *task, int fd, struct error *err)
{
	return fd_watch(task->epoll_fd, fd) < 0 ? error_errno(err, ERROR_HOST, "epoll") : 0;
}

static void linux_free(struct task *base)
{
	struct linux_task *task = linux_task_of(base);

	rules_socket_close(task->rules_socket);
	launch_done(&task->launch, false);
	fd_close(&task->listener_fd);
	quota_end(&task->quota);
	fd_close(&task->kept_fd);
	fd_close(&task->epoll_fd);
	fd_close(&base->pty_master);
	strv_done(&base->layers);
	strv_done(&base->upper_paths);
	denials_done(&base->denials);
	launch_filters_done(&task->filters);
	dir_rename_queue_free(&task->renames);
	free(task);
}

/* As root the supervisor clones the host's mounts; for a plain user the payload does, in its own namespace. */
static int open_hands(struct linux_task *task, struct error *err)
{
	if (!task->io.passed_fds || !root_is_idmapped(task->spec->root))
		return 0;
	return passed_fds_open(task->io.passed_fds, -1, err);
}

/* A top that stays has no size of its own. */
static void watch_disk(struct linux_task *task)
{
	const struct spec *spec = task->spec;

	task->kept_fd =
		spec->upper_dir ? open(spec->upper_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	disk_watch_init(&task->disk, task->kept_fd, spec->limits.disk_bytes, spec->limits.inodes);
	quota_begin(&task->quota, task->kept_fd, spec->limits.disk_bytes, spec->limits.inodes);
}

/* Nor has one that is on disk because the kernel's tmpfs cannot hold it. It was made for this run, and is empty. */
static void watch_storage(struct linux_task *task)
{
	const struct spec_limits *limits = &task->spec->limits;

	if (task->disk.fd >= 0 || !task->launch.storage)
		return;
	disk_watch_init(&task->disk, task->launch.storage_fd, limits->disk_bytes, limits->inodes);
	task->disk.has_walked = true;
}

static int linux_start(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
		       struct error *err)
{
	struct linux_task *task = xcalloc(1, sizeof(*task));

	task->task = (struct task){
		.driver = &driver_linux, .pty_master = -1, .upper_fd = -1, .isolation = "namespaces"
	};
	task->spec = spec;
	task->io.lock_fds[0] = task->io.lock_fds[1] = -1;
	task->egress.has_network = spec->net == NET_ALLOW;
	watch_disk(task);
	task->listener_fd = -1;
	launch_init(&task->launch);
	for (int i = 0; i < 3; i++) {
		task->io.fds[i] = io->fds[i];
		task->io.tty[i] = io->tty[i];
	}
	task->io.rows = io->rows;
	task->io.columns = io->columns;
	task->io.has_score = io->has_score;
	task->io.passed_fds = io->passed_fds;
	task->io.secrets = io->secrets;
	task->io.prestart = io->prestart;
	task->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (open_hands(task, err) < 0 ||
	    launch_filters_make(spec, io->seen, &task->filters, &task->io, err) < 0 ||
	    launch_start(spec, &task->io, &task->launch, err) < 0 ||
	    watch(task, task->launch.control_fd, err) < 0 ||
	    watch(task, task->launch.payload_fd, err) < 0 ||
	    (task->launch.gateway_fd >= 0 && watch(task, task->launch.gateway_fd, err) < 0) ||
	    launch_refuse_missing(&task->launch, 0, spec->require, err) < 0) {
		linux_free(&task->task);
		return -1;
	}
	task->task.start = task->launch.was_ready ? "pool" : "cold";
	watch_storage(task);
	linux_name_layers(&task->task, task->launch.missing);
	*ret_task = &task->task;
	return 0;
}

static int linux_poll_fd(const struct task *base)
{
	const struct linux_task *task = (const struct linux_task *)base;

	return task->epoll_fd;
}

static void end_with_error(struct linux_task *task, const struct error *err)
{
	/* The payload's own reason comes first; init's "gone" only follows from it. */
	if (task->task.error.code == ERROR_NONE)
		task->task.error = *err;
	task->task.state = TASK_ENDED;
	launch_signal(&task->launch, SIGKILL);
}

static void handle_message(struct linux_task *task, int fd)
{
	struct launch_report report;
	struct error err;

	/* Both may have spoken since we looked: why it did not start is the better answer. */
	while (fd == task->launch.control_fd && fd_wait(task->launch.payload_fd, POLLIN, 0) > 0)
		handle_message(task, task->launch.payload_fd);
	launch_step(&task->launch, fd, &report);
	switch (report.event) {
	case LAUNCH_NOTHING:
	case LAUNCH_READY:
		break;
	case LAUNCH_RUNNING:
	case LAUNCH_SILENT:
		/* By hand: the janitor may still hold a copy, and then closing is not enough to leave epoll. */
		(void)epoll_ctl(task->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		fd_close(&task->launch.payload_fd);
		task->task.began_ns = task->launch.began_ns;
		quota_settle(&task->quota);
		if (task->task.state == TASK_STARTING && report.event == LAUNCH_RUNNING)
			task->task.state = TASK_RUNNING;
		break;
	case LAUNCH_LISTENER:
		task->listener_fd = report.fd;
		if (watch(task, report.fd, &err) < 0)
			end_with_error(task, &err);
		break;
	case LAUNCH_NAMES:
		/* Where they cannot be watched, names are refused without a denial on record. */
		(void)watch(task, task->launch.names_fds[0], &err);
		(void)watch(task, task->launch.names_fds[1], &err);
		break;
	case LAUNCH_TERMINAL:
		task->task.pty_master = report.fd;
		break;
	case LAUNCH_MOVED:
		dir_rename_queue_done(&task->renames, task->listener_fd, report.move_id,
				      &task->launch);
		break;
	case LAUNCH_ENDED:
		task->task.wait_status = report.wait_status;
		task->task.ended_ns = report.ended_ns;
		task->used = report.used;
		task->has_used = true;
		task->pids_hit = report.pids_hit;
		task->task.state = TASK_ENDED;
		break;
	case LAUNCH_KILLED:
		if (task->task.error.code == ERROR_NONE)
			task->task.stopped_by = TASK_KILLED;
		end_with_error(task, &report.error);
		break;
	case LAUNCH_FAILED:
		end_with_error(task, &report.error);
		break;
	}
	linux_name_layers(&task->task, task->launch.missing);
}

static void add_denial(struct linux_task *task, const struct notify_event *event)
{
	denials_add(&task->task.denials, event->kind == NOTIFY_NET ? "net" : "seccomp", event->what,
		    event->rule, event->hint);
}

static void handle_notification(struct linux_task *task, const struct notify_event *event)
{
	switch (event->kind) {
	case NOTIFY_SILENT:
		break;
	case NOTIFY_NET:
		/* Behind a gateway a connection is no denial: the gateway reports those, and names as well. */
		if (task->spec->net == NET_ALLOW ||
		    (task->launch.reports_names && event->peer.port == EGRESS_NAMES_PORT)) {
			egress_note(&task->egress, event);
			break;
		}
		add_denial(task, event);
		break;
	case NOTIFY_SYSCALL:
		add_denial(task, event);
		break;
	case NOTIFY_MOVE:
		/* Comes only to be seen: these overlays rename by themselves. */
		if (root_is_idmapped(task->spec->root)) {
			(void)notify_answer(task->listener_fd, event->id, 0);
			break;
		}
		dir_rename_queue_take(&task->renames, task->listener_fd, event, &task->launch);
		break;
	}
}

static void handle_notifications(struct linux_task *task)
{
	for (int i = 0; i < NOTIFICATIONS_PER_STEP; i++) {
		struct notify_event event;

		if (notify_handle(task->listener_fd, &task->filters.listening, &event) < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ENOENT) {
				epoll_ctl(task->epoll_fd, EPOLL_CTL_DEL, task->listener_fd, NULL);
				fd_close(&task->listener_fd);
			}
			return;
		}
		handle_notification(task, &event);
		if (event.kind == NOTIFY_NET)
			(void)notify_answer(task->listener_fd, event.id, 0);
	}
}

static void handle_gateway(struct linux_task *task)
{
	struct error err;

	if (egress_handle(&task->egress, task->launch.gateway_fd, &task->task, &err) == 0)
		return;
	(void)epoll_ctl(task->epoll_fd, EPOLL_CTL_DEL, task->launch.gateway_fd, NULL);
	task->launch.reports_names = false;
	/* One that only refuses is not missed. */
	if (task->egress.has_network)
		end_with_error(task, &err);
	else
		fd_close(&task->launch.gateway_fd);
}

static void linux_step(struct task *base)
{
	struct linux_task *task = linux_task_of(base);
	struct epoll_event events[4];
	int count = epoll_wait(task->epoll_fd, events, 4, 0);

	for (int i = 0; i < count && base->state != TASK_ENDED; i++) {
		int fd = events[i].data.fd;

		/* An earlier event of the same batch may have closed what a later one is about. */
		if (fd == task->listener_fd)
			handle_notifications(task);
		else if (fd == task->launch.control_fd || fd == task->launch.payload_fd)
			handle_message(task, fd);
		else if (fd == task->launch.gateway_fd)
			handle_gateway(task);
		else if (fd == task->launch.names_fds[0] || fd == task->launch.names_fds[1])
			egress_refuse_names(&task->launch, task->spec, task->epoll_fd);
		else
			rules_socket_step(task->rules_socket, fd);
	}
	if (base->state == TASK_ENDED)
		egress_finish(&task->egress, task->launch.gateway_fd, base);
	if (base->upper_fd < 0 && task->launch.upper_fd >= 0) {
		base->upper_fd = task->launch.upper_fd;
		strv_copy(&base->upper_paths, &task->launch.unit_paths);
	}
}

/* Processes killed with init are in no one's rusage: what they used is read while they live. */
static void take_usage(struct linux_task *task)
{
	struct tree_usage tree;

	if (task->launch.proc_fd < 0)
		return;
	tree_sample(task->launch.proc_fd, &tree);
	task->used.cpu_us = tree.cpu_us;
	task->used.peak_memory_bytes = tree.memory_bytes;
	task->has_used = true;
}

static void linux_kill(struct task *base)
{
	struct linux_task *task = linux_task_of(base);

	if (base->state != TASK_ENDED)
		take_usage(task);
	launch_signal(&task->launch, SIGKILL);
	if (base->state == TASK_ENDED)
		return;
	egress_finish(&task->egress, task->launch.gateway_fd, base);
	base->wait_status = SIGKILL;
	base->state = TASK_ENDED;
}

/* By init, which knows the command's process group and passes on what comes from outside (launch/start/reap.c). */
static void linux_end(struct task *base, int sig)
{
	launch_signal(&linux_task_of(base)->launch, sig);
}

/* The filesystem refuses writes when it is full: no process needs to be stopped. */
static void look_at_quota(struct linux_task *task, struct task_usage *usage)
{
	bool is_full, inodes_hit;

	quota_look(&task->quota, &is_full, &inodes_hit);
	task->was_full |= is_full;
	task->inodes_hit |= inodes_hit;
	usage->disk_full = task->was_full;
	usage->inodes_full = task->inodes_hit;
}

static void sample_disk(struct linux_task *task, struct task_usage *usage)
{
	struct statfs fs;

	if (task->disk.fd >= 0) {
		bool is_over = task->task.state == TASK_ENDED
				       ? disk_watch_is_over_at_last(&task->disk)
				       : disk_watch_is_over(&task->disk);

		task->was_full |= is_over && !task->disk.is_entries;
		task->inodes_hit |= is_over && task->disk.is_entries;
		usage->disk_bytes = task->disk.bytes;
		usage->disk_limit_bytes = task->disk.limit_bytes;
		usage->disk_full = task->was_full;
		usage->inodes_full = task->inodes_hit;
		/* Should the quota not hold, the watch does. */
		if (task->quota.is_on && !is_over) {
			look_at_quota(task, usage);
			return;
		}
		usage->disk_stopped = task->was_full || task->inodes_hit;
		if (usage->disk_stopped)
			task->task.degraded |= 1u << LAYER_DISK;
		return;
	}

	if (task->launch.upper_fd < 0 || fstatfs(task->launch.upper_fd, &fs) < 0 ||
	    fs.f_blocks == 0)
		return;
	usage->disk_limit_bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	usage->disk_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	task->was_full |= fs.f_bfree == 0;
	task->inodes_hit |= fs.f_bfree != 0 && fs.f_ffree == 0;
	usage->disk_full = task->was_full;
	usage->inodes_full = task->inodes_hit;
}

static void sample_without_group(struct linux_task *task, struct task_usage *usage)
{
	struct tree_usage tree;

	if (task->has_used) {
		usage->cpu_us = task->used.cpu_us;
		usage->peak_memory_bytes = task->used.peak_memory_bytes;
	} else {
		tree_sample(task->launch.proc_fd, &tree);
		usage->cpu_us = tree.cpu_us;
		usage->memory_bytes = tree.memory_bytes;
		usage->pids = tree.tasks;
		if (tree.memory_bytes > task->peak_memory_bytes)
			task->peak_memory_bytes = tree.memory_bytes;
	}
	if (usage->peak_memory_bytes < task->peak_memory_bytes)
		usage->peak_memory_bytes = task->peak_memory_bytes;
}

static void linux_sample(struct task *base, struct task_usage *ret_usage)
{
	struct linux_task *task = linux_task_of(base);
	struct cgroup_usage group;

	*ret_usage = (struct task_usage){ 0 };
	sample_disk(task, ret_usage);
	if (!task->launch.has_group) {
		ret_usage->pids_refused = task->pids_hit;
		sample_without_group(task, ret_usage);
		return;
	}
	cgroup_read(&task->launch.group, base->state == TASK_ENDED, &group);
	ret_usage->cpu_us = group.has_cpu ? group.cpu_us : task->used.cpu_us;
	ret_usage->memory_bytes = group.memory_bytes;
	ret_usage->peak_memory_bytes = group.peak_memory_bytes;
	ret_usage->pids = group.pids;
	ret_usage->oom_kills = group.oom_kills;
	ret_usage->pids_refused = group.pids_refused;
}

static void linux_listen(struct task *base, int dir_fd)
{
	struct linux_task *task = linux_task_of(base);
	const struct rules_socket_run run = { .task = base,
					      .spec = task->spec,
					      .launch = &task->launch,
					      .egress = &task->egress,
					      .has_secrets = task->io.secrets != NULL };

	if (task->egress.has_network && !task->rules_socket)
		task->rules_socket = rules_socket_open(&run, dir_fd, task->epoll_fd);
}

const struct driver driver_linux = {
	.name = "linux",
	.summary = "this machine, copy-on-write, in namespaces of its own",
	.isolation = "namespaces",
	.strength = DRIVER_FAIR,
	.lacks = "a kernel of its own",
	.check = linux_check,
	.begin = launch_begin,
	.abandon = launch_abandon,
	.start = linux_start,
	.poll_fd = linux_poll_fd,
	.step = linux_step,
	.kill = linux_kill,
	.end = linux_end,
	.sample = linux_sample,
	.resize = linux_resize,
	.listen = linux_listen,
	.free = linux_free,
	.takes_secrets = true,
	.enter = &driver_linux_attach,
};
