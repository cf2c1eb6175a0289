/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init: pid 1 of the sandbox. Assembles the root, releases the payload, then reaps (reap.c).
 *
 * It keeps its capabilities (over the sandbox's own namespaces only) until the root stands, then seals itself like
 * the payload. It is not dumpable and outside the payload's Landlock domain, so nothing inside can trace it.
 * Its end is the end of every process inside: the kernel sees to that.
 */
#include "launch/setup/start.h"
#include "launch/setup/storage.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "base/process/process.h"
#include "confine/capability.h"
#include "confine/rlimit.h"
#include "confine/root/mount.h"
#include "confine/network.h"
#include "confine/seccomp/seccomp.h"
#include "confine/sysctl.h"
#include "launch/start/prestart.h"
#include "launch/setup/check.h"
#include "launch/setup/populate.h"
#include "launch/setup/handshake.h"
#include "launch/setup/identity.h"
#include "launch/exec/init_server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct assembly {
	const struct start *start;
	int release_fd;		   /* to the payload */
	struct populate_gift gift; /* of the payload, -1 until it has sent it */
	struct fresh fresh;
	pid_t payload;
};

static _Noreturn void fail(const struct start *start, const struct error *err)
{
	struct message message = { .kind = MESSAGE_FAILED };

	message.error = *err;
	(void)handshake_send(start->control_fd, &message, NULL, 0);
	_exit(1);
}

/* From here on the supervisor's death is ours, whatever happens to the sockets. */
static int die_with_supervisor(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static int become_inside(const struct start *start, struct error *err)
{
	struct message message;

	if (handshake_expect(start->control_fd, MESSAGE_MAPPED, &message, NULL, err) < 0)
		return -1;
	if (identity_take(&start->spec->ids, err) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || die_with_supervisor() < 0)
		return error_errno(err, ERROR_HOST, "cannot protect init");
	return 0;
}

static int isolate(const struct start *start, struct error *err)
{
	if (become_inside(start, err) < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_errno(err, ERROR_HOST, "cannot make mounts private");
	if (!(start->missing & 1u << LAYER_UTS) &&
	    sethostname(start->spec->hostname, strlen(start->spec->hostname)) < 0)
		return error_errno(err, ERROR_HOST, "cannot set the host name");
	return chdir("/") < 0 ? error_errno(err, ERROR_HOST, "cannot enter /") : 0;
}

static int receive_parts(const struct start *start, struct root_parts *parts, struct error *err)
{
	struct message message;

	for (;;) {
		struct message_fds fds;
		int got = handshake_receive(start->control_fd, &message, &fds);

		if (got < 0)
			return error_errno(err, ERROR_HOST, "start: cannot receive");
		if (got == 0)
			return error_set(err, ERROR_HOST, "start: the supervisor is gone");
		if (message.kind == MESSAGE_READY)
			return 0;
		if (message.kind != MESSAGE_PART || fds.count != 1 ||
		    parts->count == ROOT_PARTS_MAX)
			return error_set(err, ERROR_INTERNAL, "start: unexpected message");
		parts->items[parts->count++] =
			(struct root_part){ fds.items[0],
					    xstrndup(message.text.bytes, message.text.len) };
	}
}

/* The supervisor counts changes in the layers that init made. The descriptor goes with the first message. */
static int send_layers(const struct start *start, const struct root_parts *parts, struct error *err)
{
	struct message message = { .kind = MESSAGE_ROOT };
	bool is_first = true;

	for (size_t i = 0; i <= parts->unit_paths.count; i++) {
		bool is_end = i == parts->unit_paths.count;
		size_t len = is_end ? 0 : strlen(parts->unit_paths.items[i]) + 1;

		if (is_end || message.text.len + len > MESSAGE_TEXT_MAX) {
			if (handshake_send(start->control_fd, &message, &parts->upper_fd,
					   is_first) < 0)
				return error_errno(err, ERROR_HOST, "start: cannot send");
			message.text.len = 0;
			is_first = false;
		}
		if (!is_end)
			memcpy(message.text.bytes + message.text.len, parts->unit_paths.items[i],
			       len);
		message.text.len += (uint32_t)len;
	}
	return 0;
}

/* The supervisor has the overlays of a sandbox that stays look at the host anew; behind the lock-down init cannot. */
static int send_overlays(const struct start *start, const struct root_overlays *overlays,
			 struct error *err)
{
	for (size_t i = 0; i < overlays->count;) {
		struct message message = { .kind = MESSAGE_OVERLAYS };
		int fds[MESSAGE_FDS_MAX];
		uint32_t count = 0;

		for (; count < MESSAGE_FDS_MAX && i < overlays->count; i++) {
			const struct root_overlay *overlay = &overlays->items[i];

			fds[count] = overlay->context_fd;
			message.text.bytes[count++] =
				(char)('0' + overlay->is_read_only + 2 * overlay->has_workspace);
		}
		message.text.len = count;
		if (handshake_send(start->control_fd, &message, fds, count) < 0)
			return error_errno(err, ERROR_HOST, "start: cannot send");
	}
	return 0;
}

/* What was begun ahead never does, and does not know its spec when it is asked first. */
static bool stays(const struct start *start)
{
	return !start->is_prestarted && start->spec->resident;
}

/* Nor does such a one wait for its command. */
static bool waits(const struct start *start)
{
	return !start->is_prestarted && start->io->waits;
}

static int build_root(const struct start *start, struct root_parts *parts, struct error *err)
{
	if (root_is_idmapped(start->spec->root))
		return receive_parts(start, parts, err);
	if (start->storage && storage_open(start->storage, &parts->upper_fd, err) < 0)
		return -1;
	if (root_forest_build(start->spec, -1, parts, err) < 0 ||
	    send_layers(start, parts, err) < 0 ||
	    (stays(start) && send_overlays(start, &parts->overlays, err) < 0))
		return -1;
	return receive_parts(start, parts, err);
}

/* With cgroup v2, programs that size themselves find their own limits in /sys/fs/cgroup. */
static int clone_group(const struct start *start)
{
	const struct spec_groups *groups = &start->spec->groups;
	char path[PATH_MAX];
	struct error ignored;
	int fd = -1;

	if (!groups->unified || !groups->v2_path)
		return -1;
	int len = snprintf(path, sizeof(path), "%s/%s%s%s", groups->v2_path,
			   groups->owner ? groups->owner : "", groups->owner ? "/" : "",
			   start->group_name);

	if (len <= 0 || (size_t)len >= sizeof(path) ||
	    mount_clone(AT_FDCWD, path, &fd, &ignored) < 0)
		return -1;
	return fd;
}

/* The payload's network also means that it has made its last mount. */
static int handle_payload_news(struct assembly *assembly, struct error *err)
{
	int got = populate_receive(assembly->start, assembly->release_fd, &assembly->gift,
				   &assembly->fresh, err);

	/* It has reported why itself, and that report comes first. */
	return got == 0 ? error_set(err, ERROR_HOST, "start: the payload is gone") : got;
}

/* The supervisor looks names up there ahead of commands. */
static int send_tree(const struct start *start, int root_fd, struct error *err)
{
	const struct message message = { .kind = MESSAGE_OVERLAYS, .text = { 1, "4" } };

	if (stays(start) && handshake_send(start->control_fd, &message, &root_fd, 1) < 0)
		return error_errno(err, ERROR_HOST, "start: cannot send");
	return 0;
}

/*
 * The last look into the tree of a sandbox that waits was ours: with the names forgotten that we have looked up, its command
 * sees the host as it is then. Each overlay waits for all processors (RCU), which a caller need not do.
 */
static int forget_names(const struct root_parts *parts, struct error *err)
{
	if (root_overlays_drop_names(&parts->overlays, false) < 0)
		return error_errno(err, ERROR_HOST, "cannot have an overlay forget names");
	return 0;
}

static int assemble(struct assembly *assembly, struct error *err)
{
	const struct start *start = assembly->start;
	owned(root_parts_done) struct root_parts parts;
	owned(fd_close) int root_fd = -1;
	owned(fd_close) int group_fd = -1;

	root_parts_init(&parts);
	parts.may_lack_places = start->spec->upper_dir != NULL;
	parts.keeps_overlays = stays(start) || waits(start);
	if (build_root(start, &parts, err) < 0)
		return -1;
	if (populate_by_payload(start->spec) && handle_payload_news(assembly, err) < 0)
		return -1;
	if (root_attach(&parts, &root_fd, err) < 0)
		return -1;
	group_fd = clone_group(start);
	if (fresh_attach(start->spec, &assembly->fresh, root_fd, group_fd, err) < 0 ||
	    root_pivot(root_fd, err) < 0 || root_let_go(err) < 0 ||
	    send_tree(start, root_fd, err) < 0)
		return -1;
	if (!bench_skip("check") && check_mounts(&parts, err) < 0)
		return -1;
	return waits(start) ? forget_names(&parts, err) : 0;
}

static pid_t fork_payload(const struct start *start, int *ret_release, struct error *err)
{
	int fd;
	pid_t pid = child_fork(CHILD_TALKS, 0, &fd, err);

	if (pid == 0) {
		if (stays(start))
			helper_main(start, fd);
		payload_main(start, fd);
	}
	if (pid > 0)
		*ret_release = fd;
	return pid;
}

/*
 * The payload has the longest way to go, but a new process starts behind its parent. Where there are two processors
 * and the supervisor is busy building the root on the other one, we go there, and share it.
 */
static void step_aside(const struct start *start)
{
	cpu_set_t all, others;
	int here = sched_getcpu();

	if (!root_is_idmapped(start->spec->root) || here < 0 ||
	    sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) != 2)
		return;
	others = all;
	CPU_CLR((size_t)here, &others);
	if (sched_setaffinity(0, sizeof(others), &others) == 0)
		(void)sched_setaffinity(0, sizeof(all), &all);
}

/*
 * The payload made its network namespace while we mounted, and sent it; init leaves the host's for it. It cannot be
 * opened by pid: until exec the payload's memory belongs to the caller's user namespace, where init may do nothing.
 */
static int join_network(struct assembly *assembly, struct error *err)
{
	if (assembly->gift.network_fd < 0 && handle_payload_news(assembly, err) < 0)
		return -1;
	owned(fd_close) int network_fd = fd_take(&assembly->gift.network_fd);

	if (setns(network_fd, CLONE_NEWNET) < 0)
		return error_errno(err, ERROR_HOST, "init: cannot join the sandbox's network");
	return 0;
}

/*
 * Everything but the control socket goes, and what reap.c closes later; then no capability, and a filter: as the payload's
 * where init still has files to move, else one that permits waiting and reporting.
 */
static int seal(const struct assembly *assembly, struct error *err)
{
	const int keep[] = { assembly->start->control_fd, assembly->release_fd,
			     assembly->gift.proc_fd };
	bool only_reaps = root_is_idmapped(assembly->start->spec->root);

	fd_close_others(keep, 3);
	reap_pass_signals(assembly->payload);
	if (waits(assembly->start) && reap_follow_holder(assembly->start->control_fd) < 0)
		return error_errno(err, ERROR_HOST, "init: cannot follow its supervisor");
	if (capability_lock() < 0 || capability_drop() < 0)
		return error_errno(err, ERROR_HOST, "init: cannot drop capabilities");
	if (!bench_skip("seccomp") &&
	    seccomp_load(only_reaps ? seccomp_reaper() : seccomp_builtin(0), false, NULL) < 0)
		return error_errno(err, ERROR_HOST, "init: cannot load the filter");
	return 0;
}

/* The payload goes on, and init needs nothing more that it has. */
static int release(struct assembly *assembly, struct error *err)
{
	const struct message ready = { .kind = MESSAGE_READY };

	if (send(assembly->release_fd, "", 1, MSG_NOSIGNAL) == 1) {
		if (seal(assembly, err) < 0)
			return -1;
		if (waits(assembly->start) &&
		    handshake_send(assembly->start->control_fd, &ready, NULL, 0) < 0)
			return error_errno(err, ERROR_HOST, "start: cannot send");
		return 0;
	}
	/* A payload that died before has reported why itself; any other waits for this, and we for it. */
	if (errno == EPIPE)
		return 0;
	return error_errno(err, ERROR_HOST, "init: cannot release the command");
}

/* What else the maker of a ready sandbox holds belongs to others, which must end when that is closed. */
static void forget_others(const struct start *start)
{
	const int *fds = start->io->fds;
	const int keep[] = {
		0, 1, 2, start->control_fd, start->payload_fd, fds[0], fds[1], fds[2]
	};

	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
}

_Noreturn void init_main(const struct start *start)
{
	struct assembly assembly = { start, -1, { -1, -1 }, FRESH_INIT, -1 };
	struct error err = { 0 };

	close(start->supervisor_control_fd);
	close(start->supervisor_payload_fd);
	if (waits(start))
		forget_others(start);
	umask(0);
	rlimit_raise_descriptors();
	(void)die_with_supervisor();
	/*
	 * Signals for the caller's group are the supervisor's to handle, or to ignore as the caller did: the payload would
	 * find it when it opens its mask, and die of it. One that stays has a session of its own later, as no leader of a
	 * group.
	 */
	if (!stays(start))
		(void)setpgid(0, 0);
	/*
	 * What the caller ignores is nothing to the command, and we could not wait for children with SIGCHLD ignored. Handlers
	 * went with CLONE_CLEAR_SIGHAND, which leaves the ignored ones.
	 */
	process_heed_signals();
	/* First of all: the payload has the longest way, and needs nothing of ours for most of it. */
	assembly.payload = fork_payload(start, &assembly.release_fd, &err);
	if (assembly.payload < 0)
		fail(start, &err);
	/* One that stays is asked for commands there. */
	if (!stays(start))
		close(start->payload_fd);
	if (!start->is_prestarted)
		step_aside(start);
	else if (prestart_await(start, start->control_fd, NULL, &err) < 0)
		fail(start, &err);
	if (isolate(start, &err) < 0 ||
	    (!populate_by_payload(start->spec) &&
	     populate_make(start, &assembly.fresh, &err) < 0) ||
	    assemble(&assembly, &err) < 0 || join_network(&assembly, &err) < 0)
		fail(start, &err);
	if (stays(start)) {
		init_server_main(start, assembly.release_fd, assembly.fresh.quota_fd, &err);
		fail(start, &err);
	}
	if (sysctl_apply_last(assembly.fresh.quota_fd, &err) < 0 || root_await_top(&err) < 0)
		fail(start, &err);
	if (release(&assembly, &err) < 0)
		fail(start, &err);
	const struct reap_kept kept = { assembly.release_fd, assembly.gift.proc_fd };

	reap_main(start, assembly.payload, &kept);
}
