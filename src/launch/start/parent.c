/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's half of a start: clone, map, limit, build, and hand over.
 *
 * It does not wait for its children: what they need is sent as soon as it is there, and they wait for it. See
 * handshake.h for the steps.
 */
#include "launch/launch.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "confine/landlock.h"
#include "confine/rlimit.h"
#include "launch/start/prestart.h"
#include "launch/start/clone_init.h"
#include "launch/start/ready_take.h"
#include "launch/setup/egress.h"
#include "launch/setup/handshake.h"
#include "launch/setup/start.h"
#include "launch/setup/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP_END_MS 5000

void launch_init(struct launch *launch)
{
	memset(launch, 0, sizeof(*launch));
	launch->init_fd = launch->control_fd = launch->payload_fd = launch->self_fd = -1;
	launch->janitor_fd = launch->upper_fd = launch->proc_fd = launch->storage_fd = -1;
	launch->lock_fds[0] = launch->lock_fds[1] = launch->gateway_fd = launch->network_fd = -1;
	launch->tree_fd = -1;
	launch->names_fds[0] = launch->names_fds[1] = -1;
	cgroup_init(&launch->group);
	cgroup_init(&launch->gateway_group);
}

static int write_maps(const struct spec_ids *ids, int proc_fd, struct error *err)
{
	char map[64];
	uid_t first_uid = ids->count > 1 ? 0 : ids->uid;
	gid_t first_gid = ids->count > 1 ? 0 : ids->gid;

	/* An unprivileged map is accepted only with setgroups switched off. */
	if (ids->count == 1 && file_write_small(proc_fd, "setgroups", "deny") < 0)
		return error_errno(err, ERROR_HOST, "cannot deny setgroups");
	(void)snprintf(map, sizeof(map), "%u %u %u\n", first_uid, ids->host_uid, ids->count);
	if (file_write_small(proc_fd, "uid_map", map) < 0)
		return error_errno(err, ERROR_HOST, "cannot map user ids");
	(void)snprintf(map, sizeof(map), "%u %u %u\n", first_gid, ids->host_gid, ids->count);
	if (file_write_small(proc_fd, "gid_map", map) < 0)
		return error_errno(err, ERROR_HOST, "cannot map group ids");
	return 0;
}

static int send_plain(int socket_fd, enum message_kind kind, const int *fds, size_t count,
		      struct error *err)
{
	struct message message = { .kind = kind };

	if (handshake_send(socket_fd, &message, fds, count) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}

/* Without a usable cgroup the watchdog and per-process limits take over; that is a named degradation. */
static int make_groups(struct launch *launch, const struct start *start, struct error *err)
{
	const struct spec *spec = start->spec;
	const struct cgroup_place place = cgroup_place_of(&spec->groups);

	if (!bench_skip("limits") && cgroup_create(&place, start->group_name, &spec->limits,
						   &launch->group, &launch->limits_error) == 0)
		launch->has_group = true;
	else
		launch->missing |= 1u << LAYER_LIMITS;
	return send_plain(launch->payload_fd, MESSAGE_GROUPS, launch->group.enter,
			  launch->group.count, err);
}

static int send_part(int socket_fd, const struct root_part *part, struct error *err)
{
	struct message message = { .kind = MESSAGE_PART };
	size_t len = strlen(part->target);

	if (len > MESSAGE_TEXT_MAX)
		return error_set(err, ERROR_INPUT, "path too long: %s", part->target);
	memcpy(message.text.bytes, part->target, len);
	message.text.len = (uint32_t)len;
	if (handshake_send(socket_fd, &message, &part->mount_fd, 1) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}

static int send_root(struct launch *launch, const struct spec *spec, int proc_fd, struct error *err)
{
	owned(root_parts_done) struct root_parts parts;
	owned(fd_close) int userns_fd = openat(proc_fd, "ns/user", O_RDONLY | O_CLOEXEC);

	root_parts_init(&parts);
	parts.keeps_overlays = launch->is_resident || launch->waits;
	if (userns_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the sandbox's user namespace");
	if (root_idmapped_build(spec, userns_fd, &parts, err) < 0)
		return -1;
	for (size_t i = 0; i < parts.count; i++) {
		if (send_part(launch->control_fd, &parts.items[i], err) < 0)
			return -1;
	}
	launch->upper_fd = fd_take(&parts.upper_fd);
	launch->held = parts.held;
	parts.held.count = 0;
	launch->overlays = parts.overlays;
	parts.overlays = (struct root_overlays){ 0 };
	strv_copy(&launch->unit_paths, &parts.unit_paths);
	return 0;
}

static int fork_janitor(struct launch *launch, struct error *err)
{
	int fd;
	pid_t pid;

	if (!launch->leaves_things || launch->janitor_pid > 0 || bench_skip("janitor"))
		return 0;
	/* A socket: descriptors whose closing takes long are sent to the janitor in the end. */
	pid = child_fork(CHILD_TALKS, 0, &fd, err);
	if (pid == 0)
		janitor_main(launch, fd);
	if (pid < 0)
		return -1;
	launch->janitor_fd = fd;
	launch->janitor_pid = pid;
	return 0;
}

static int hand_over(struct launch *launch, const struct start *start, struct error *err)
{
	const struct spec *spec = start->spec;
	char path[32];
	owned(fd_close) int proc_fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d", launch->init_pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (write_maps(&spec->ids, proc_fd, err) < 0 ||
	    send_plain(launch->control_fd, MESSAGE_MAPPED, NULL, 0, err) < 0 ||
	    make_groups(launch, start, err) < 0)
		return -1;
	if (root_is_idmapped(spec->root) && send_root(launch, spec, proc_fd, err) < 0)
		return -1;
	if (send_plain(launch->control_fd, MESSAGE_READY, NULL, 0, err) < 0)
		return -1;
	launch->leaves_things = launch->has_group || launch->gateway_group.count > 0 ||
				launch->upper_fd >= 0 || launch->storage || launch->is_resident;
	return 0;
}

/* When a child failed first, its reason is the better one. */
static void prefer_reason_of_children(struct launch *launch, struct error *err)
{
	const int fds[] = { launch->control_fd, launch->payload_fd };

	for (size_t i = 0; i < 2; i++) {
		struct launch_report report;
		int ready = fd_wait(fds[i], POLLIN, 0);

		if (ready <= 0 || !(ready & POLLIN))
			continue;
		launch_step(launch, fds[i], &report);
		if (report.event == LAUNCH_FAILED)
			*err = report.error;
		fd_close(&report.fd);
	}
}

int launch_start(const struct spec *spec, const struct launch_io *io, struct launch *ret_launch,
		 struct error *err)
{
	struct launch launch;
	struct start start = {
		.spec = spec, .io = io, .landlock_abi = landlock_abi(), .inside_fd = -1
	};

	if (ready_take(spec, io, ret_launch))
		return 0;
	launch_init(&launch);
	launch.is_resident = spec->resident;
	launch.waits = io->waits;
	memcpy(launch.lock_fds, io->lock_fds, sizeof(launch.lock_fds));
	launch.ends_ms = io->ends_ms;
	if (launch.ends_ms)
		launch.self_fd = child_open(getpid());
	rlimit_raise_descriptors();
	/* As an earlier run of this process left it, a plain user could not map ids; it is closed again below. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	owner_name(spec->run_id, start.group_name);
	if (storage_make(spec, &launch.storage, &launch.storage_fd, err) < 0)
		return -1;
	start.storage = launch.storage;
	if (launch.storage)
		launch.missing |= 1u << LAYER_DISK;
	if (start.landlock_abi < 2)
		launch.missing |= 1u << LAYER_LANDLOCK;
	if (root_check_binds(spec, err) < 0 || egress_start(&launch, &start, err) < 0 ||
	    (!prestart_take(&launch, &start) &&
	     clone_init(&launch, &start, &spec->ids, spec->allow_degraded, err) < 0)) {
		launch_done(&launch, false);
		return -1;
	}
	if (hand_over(&launch, &start, err) < 0) {
		prefer_reason_of_children(&launch, err);
		launch_done(&launch, true);
		return -1;
	}
	/* A supervisor has nothing to do while its sandbox is assembled; a run has better use for that time. */
	if (launch.is_resident && fork_janitor(&launch, err) < 0) {
		launch_done(&launch, true);
		return -1;
	}
	/* Only now: a process that is not dumpable cannot write its child's id maps as a plain user. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	*ret_launch = launch;
	return 0;
}

static void take_layers(struct launch *launch, const struct message *message, int fd)
{
	const char *at = message->text.bytes;
	const char *end = at + message->text.len;

	if (fd >= 0)
		launch->upper_fd = fd;
	for (; at < end; at += strlen(at) + 1)
		strv_add(&launch->unit_paths, at);
}

static void take_overlays(struct launch *launch, const struct message *message,
			  const struct message_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++) {
		int what = message->text.bytes[i] - '0';
		const struct root_overlay overlay = { .context_fd = fds->items[i],
						      .is_read_only = what & 1,
						      .has_workspace = what & 2 };

		if (what & 4)
			launch->tree_fd = fds->items[i];
		else
			root_overlays_add(&launch->overlays, &overlay);
	}
}

/* Behind EXEC the end means that the command runs; before it, init or the payload reports why. */
static void step_behind_exec(struct launch *launch, struct launch_report *report)
{
	report->event = launch->is_executing ? LAUNCH_RUNNING : LAUNCH_SILENT;
	if (!launch->is_executing)
		return;
	/* Not before: the start has better use for the processors, and what dies in it is swept up afterwards. */
	if (fork_janitor(launch, &report->error) < 0)
		report->event = LAUNCH_FAILED;
	/* The janitor holds them too, so this is quick. */
	if (launch->janitor_pid > 0)
		root_held_done(&launch->held);
}

static void report_message(struct launch *launch, const struct message *message, int fd,
			   struct launch_report *report)
{
	switch (message->kind) {
	case MESSAGE_PROC:
		launch->proc_fd = fd;
		break;
	case MESSAGE_NETWORK:
		launch->network_fd = fd;
		break;
	case MESSAGE_LISTENER:
		launch->missing |= message->missing;
		report->event = fd >= 0 ? LAUNCH_LISTENER : LAUNCH_NOTHING;
		report->fd = fd;
		break;
	case MESSAGE_TERMINAL:
		report->event = LAUNCH_TERMINAL;
		report->fd = fd;
		break;
	case MESSAGE_ROOT:
		take_layers(launch, message, fd);
		break;
	case MESSAGE_MOVED:
		report->event = LAUNCH_MOVED;
		report->move_id = message->move.id;
		break;
	case MESSAGE_ENDED:
		if (!launch->is_executing) {
			report->event = LAUNCH_FAILED;
			error_set(&report->error, ERROR_HOST,
				  "the sandbox ended before the command could be executed");
			break;
		}
		report->event = LAUNCH_ENDED;
		report->wait_status = message->ended.wait_status;
		report->ended_ns = message->at_ns;
		report->used = message->ended.used;
		report->pids_hit = message->ended.pids_hit;
		break;
	case MESSAGE_FAILED:
		report->event = LAUNCH_FAILED;
		report->error = message->error;
		break;
	case MESSAGE_EXEC:
		launch->is_executing = true;
		launch->began_ns = message->at_ns;
		if (launch->is_resident)
			step_behind_exec(launch, report);
		break;
	case MESSAGE_PLAN:
	case MESSAGE_MAPPED:
	case MESSAGE_PART:
	case MESSAGE_READY:
	case MESSAGE_GROUPS:
	case MESSAGE_OVERLAYS:
	case MESSAGE_NAMES:
	case MESSAGE_MOVE:
		break;
	}
}

static void step(struct launch *launch, int ready_fd, struct launch_report *ret_report)
{
	struct message_fds fds;
	struct message message;
	int got = handshake_receive(ready_fd, &message, &fds);

	*ret_report = (struct launch_report){ .event = LAUNCH_NOTHING, .fd = -1 };
	if (got > 0 && message.kind == MESSAGE_READY)
		ret_report->event = LAUNCH_READY;
	if (got > 0 && message.kind == MESSAGE_OVERLAYS) {
		take_overlays(launch, &message, &fds);
		return;
	}
	if (got > 0 && message.kind == MESSAGE_NAMES) {
		memcpy(launch->names_fds, fds.items, sizeof(launch->names_fds));
		launch->reports_names = true;
		ret_report->event = LAUNCH_NAMES;
		return;
	}
	if (got > 0) {
		report_message(launch, &message, fds.items[0], ret_report);
		return;
	}
	/* Reported once, and before what was sent: the other side ended with a message of ours unread. */
	if (got < 0 && errno == ECONNRESET)
		return;
	if (got < 0) {
		ret_report->event = LAUNCH_FAILED;
		error_errno(&ret_report->error, ERROR_HOST, "start: cannot receive");
		return;
	}
	if (ready_fd == launch->payload_fd) {
		step_behind_exec(launch, ret_report);
		return;
	}
	/* Behind a hand-over the command is init's to start: whether it has begun cannot be known. */
	bool may_have_run = launch->is_executing || launch->was_ready;

	ret_report->event = may_have_run ? LAUNCH_KILLED : LAUNCH_FAILED;
	error_set(&ret_report->error, ERROR_HOST, "the sandbox's init %s",
		  may_have_run ? "was killed, and the command with it" : "ended without a word");
}

void launch_step(struct launch *launch, int ready_fd, struct launch_report *ret_report)
{
	step(launch, ready_fd, ret_report);
	if (ret_report->event == LAUNCH_FAILED)
		egress_explain(launch, &ret_report->error);
}

int launch_move(struct launch *launch, const struct launch_move *move)
{
	struct message message = { .kind = MESSAGE_MOVE };
	size_t from = strlen(move->paths[0]) + 1, to = strlen(move->paths[1]) + 1;

	if (from + to > MESSAGE_TEXT_MAX)
		return -1;
	message.move.id = move->id;
	message.move.len = (uint32_t)(from + to);
	memcpy(message.move.bytes, move->paths[0], from);
	memcpy(message.move.bytes + from, move->paths[1], to);
	return handshake_send(launch->control_fd, &message, move->fds, 2);
}

void launch_signal(struct launch *launch, int sig)
{
	if (launch->init_fd >= 0)
		(void)child_signal(launch->init_fd, sig);
}

/* Ends init, if there is one, and with it all of the sandbox; a janitor waits for that where the caller does not. */
static void end_init(struct launch *launch, bool wait)
{
	struct pollfd end = { .fd = launch->init_fd, .events = POLLIN };
	struct error ignored;

	if (launch->init_pid <= 0)
		return;
	launch_signal(launch, SIGKILL);
	/* A start that failed half-way, or a command that ended before we saw it run. */
	if (!wait && fork_janitor(launch, &ignored) == 0)
		return;
	(void)child_wait(launch->init_pid);
	/* One that was handed over is another process's child. */
	(void)poll(&end, 1, GROUP_END_MS);
	if (launch->has_group)
		(void)cgroup_remove(&launch->group, GROUP_END_MS);
}

void launch_done(struct launch *launch, bool wait)
{
	end_init(launch, wait);
	egress_stop(launch);
	if (launch->janitor_fd < 0)
		(void)cgroup_remove(&launch->gateway_group, GROUP_END_MS);
	fd_close(&launch->control_fd);
	fd_close(&launch->payload_fd);
	fd_close(&launch->upper_fd);
	/* Of one that stayed it is the last descriptor of a detached mount: see struct root_held. */
	if (launch->is_resident && launch->proc_fd >= 0 && launch->janitor_fd >= 0)
		(void)fd_send(launch->janitor_fd, "p", 1, &launch->proc_fd, 1);
	fd_close(&launch->proc_fd);
	root_held_done(&launch->held);
	root_overlays_done(&launch->overlays);
	fd_close(&launch->tree_fd);
	cgroup_done(&launch->group);
	cgroup_done(&launch->gateway_group);
	strv_done(&launch->unit_paths);
	if (launch->janitor_fd < 0)
		storage_remove(launch->storage);
	free_ptr(&launch->storage);
	fd_close(&launch->storage_fd);
	fd_close(&launch->self_fd);
	fd_close(&launch->init_fd);
	/* Last: this is the janitor's sign. */
	fd_close(&launch->janitor_fd);
	/* With pid 1 of a namespace all its processes end, the janitor in the middle of its work. */
	if (launch->janitor_pid > 0 && getpid() == 1)
		(void)child_wait(launch->janitor_pid);
	launch->init_pid = launch->janitor_pid = 0;
}
