/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trying each layer for real, in short-lived children.
 *
 * A probe is a function that runs in a forked child, goes through the same steps as a launch (a user namespace with
 * its map, then the layer's own), and sends what came of it up a pipe. A child that hangs is ended by its own alarm;
 * one that dies has not worked.
 */
#include "app/doctor/doctor_probe.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "confine/cgroup.h"
#include "confine/landlock.h"
#include "confine/root/mount.h"
#include "confine/seccomp/seccomp.h"
#include "launch/setup/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_SECONDS 5

struct probe {
	const struct host *host;
	enum layer layer;
	struct probe_result *result;
};

static int write_map(pid_t pid, const char *name, unsigned inside, unsigned outside, unsigned count)
{
	char path[64], text[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	(void)snprintf(text, sizeof(text), "%u %u %u", inside, outside, count);
	return file_write_small(AT_FDCWD, path, text);
}

/* A root caller's map is written from outside the new namespace, by a helper forked before. */
static int map_from_outside(const struct host *host, pid_t pid, int wait_fd)
{
	char go;

	if (read(wait_fd, &go, 1) != 1)
		return 1;
	return write_map(pid, "uid_map", 0, host->id_base, host->id_count) < 0 ||
	       write_map(pid, "gid_map", 0, host->id_base, host->id_count) < 0;
}

static int enter_as_root(const struct host *host, struct error *err)
{
	owned(fd_close) int go_fd = -1;
	pid_t self = getpid(), helper = child_fork(CHILD_READS, 0, &go_fd, err);

	if (helper == 0)
		_exit(map_from_outside(host, self, go_fd));
	if (helper < 0)
		return -1;
	if (unshare(CLONE_NEWUSER) < 0)
		return error_errno(err, ERROR_HOST, "a user namespace was refused");
	if (write(go_fd, "x", 1) != 1 || child_wait(helper) != 0)
		return error_set(err, ERROR_HOST, "the id map of a user namespace was refused");
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return error_errno(err, ERROR_HOST, "ids of a user namespace");
	return 0;
}

static int enter_user_namespace(const struct host *host, struct error *err)
{
	if (host->privileged)
		return enter_as_root(host, err);
	if (unshare(CLONE_NEWUSER) < 0)
		return error_errno(err, ERROR_HOST, "a user namespace was refused");
	if (file_write_small(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
	    write_map(getpid(), "uid_map", host->uid, host->uid, 1) < 0 ||
	    write_map(getpid(), "gid_map", host->gid, host->gid, 1) < 0)
		return error_errno(err, ERROR_HOST, "the id map of a user namespace was refused");
	return 0;
}

static int enter_namespaces(const struct host *host, int flags, struct error *err)
{
	if (enter_user_namespace(host, err) < 0)
		return -1;
	if (unshare(flags) < 0)
		return error_errno(err, ERROR_HOST, "the namespace was refused");
	if ((flags & CLONE_NEWNS) && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_errno(err, ERROR_HOST, "mounts cannot be made private");
	return 0;
}

static int try_mount(const struct probe *probe, struct error *err)
{
	if (enter_namespaces(probe->host, CLONE_NEWNS, err) < 0)
		return -1;
	if (mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0)
		return error_errno(err, ERROR_HOST, "a tmpfs of its own was refused");
	return 0;
}

/* A fresh /proc is refused where parts of the present one are covered, as container engines do. */
static int try_pid(const struct probe *probe, struct error *err)
{
	int status;
	pid_t child;

	if (enter_namespaces(probe->host, CLONE_NEWNS | CLONE_NEWPID, err) < 0)
		return -1;
	child = fork();
	if (child == 0)
		_exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0
			      ? errno
			      : 0);
	if (child < 0)
		return error_errno(err, ERROR_HOST, "a process in its own pid namespace");
	status = child_wait(child);
	if (!WIFEXITED(status))
		return error_set(err, ERROR_HOST, "a process in its own pid namespace died");
	errno = WEXITSTATUS(status);
	return errno ? error_errno(err, ERROR_HOST, "a fresh /proc was refused") : 0;
}

static int try_seccomp(const struct probe *probe, struct error *err)
{
	int listener = -1;

	(void)probe;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, ERROR_HOST, "no_new_privs");
	if (seccomp_load(seccomp_builtin(0), false, &listener) < 0)
		return error_errno(err, ERROR_HOST, "the system call filter was refused");
	/* Seen to bite: the filter has to refuse what would otherwise be answered in some other way. */
	if (syscall(SYS_unshare, 0) == 0 || errno != EPERM)
		return error_set(err, ERROR_HOST,
				 "the system call filter is loaded but does not act");
	(void)snprintf(probe->result->detail, sizeof(probe->result->detail),
		       "filter loads and refuses");
	return 0;
}

static int try_landlock(const struct probe *probe, struct error *err)
{
	int abi = landlock_abi();

	if (abi <= 0)
		return error_set(err, ERROR_HOST, "this kernel offers no Landlock");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_apply(abi, false) < 0)
		return error_errno(err, ERROR_HOST, "Landlock ABI %d", abi);
	(void)snprintf(probe->result->detail, sizeof(probe->result->detail), "ABI %d", abi);
	return 0;
}

/* Upper and work directories on a tmpfs of its own, as a run has them. */
static int make_upper(struct overlay_layers *layers, int *ret_tmpfs, struct error *err)
{
	int tmpfs = -1;

	if (mount_tmpfs(1 << 20, 0, 0, &tmpfs, err) < 0)
		return -1;
	if (mkdirat(tmpfs, "u", 0755) < 0 || mkdirat(tmpfs, "w", 0755) < 0)
		return error_errno(err, ERROR_HOST, "writable layer");
	layers->upper = openat(tmpfs, "u", O_PATH | O_DIRECTORY | O_CLOEXEC);
	layers->work = openat(tmpfs, "w", O_PATH | O_DIRECTORY | O_CLOEXEC);
	*ret_tmpfs = tmpfs;
	return 0;
}

/* Enters the mapped namespace, reports it and waits to be killed. */
static _Noreturn void hold_namespace(const struct host *host, pid_t parent, int ready_fd)
{
	struct error ignored;
	char word = enter_as_root(host, &ignored) == 0 ? 'y' : 'n';

	/* Taking other ids forgets an earlier request of this kind. */
	parent_end_follow(parent, SIGKILL);
	(void)!write(ready_fd, &word, 1);
	(void)pause();
	_exit(0);
}

/* A user namespace that carries the map, by way of a child that lives only as long as it is needed. */
static int mapped_namespace(const struct host *host, int *ret_fd, struct error *err)
{
	char path[64], word = 'n';
	owned(fd_close) int ready_fd = -1;
	pid_t parent = getpid(), child = child_fork(CHILD_WRITES, 0, &ready_fd, err);

	if (child == 0)
		hold_namespace(host, parent, ready_fd);
	if (child > 0 && read(ready_fd, &word, 1) == 1 && word == 'y') {
		(void)snprintf(path, sizeof(path), "/proc/%ld/ns/user", (long)child);
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	child_end(child);
	if (*ret_fd < 0)
		return error_set(err, ERROR_HOST, "no user namespace to map ids with");
	return 0;
}

static int try_idmapped(const struct probe *probe, struct error *err)
{
	struct overlay_layers layers = { .lower_count = 1 };
	int userns = -1, tmpfs = -1, overlay = -1;

	if (mapped_namespace(probe->host, &userns, err) < 0 || unshare(CLONE_NEWNS) < 0)
		return -1;
	if (mount_clone(AT_FDCWD, "/", &layers.lowers[0], err) < 0 ||
	    mount_idmap(layers.lowers[0], userns, err) < 0)
		return error_context(err, "idmapped clone of /");
	if (make_upper(&layers, &tmpfs, err) < 0)
		return -1;
	if (mount_overlay(&layers, &overlay, NULL, err) == 0)
		return 0;
	/* Kernels before 6.13 take layers that are attached somewhere only. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount_park(tmpfs, err) < 0 ||
	    mount_park(layers.lowers[0], err) < 0 ||
	    mount_overlay(&layers, &overlay, NULL, err) < 0)
		return error_context(err, "overlay over an idmapped /");
	return 0;
}

static int try_forest(const struct probe *probe, struct error *err)
{
	struct overlay_layers layers = { .lower_count = 1, .user_xattr = true };
	int tmpfs = -1, overlay = -1;

	if (enter_namespaces(probe->host, CLONE_NEWNS, err) < 0)
		return -1;
	layers.lowers[0] = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (make_upper(&layers, &tmpfs, err) < 0 || mount_park(tmpfs, err) < 0 ||
	    mount_overlay(&layers, &overlay, NULL, err) < 0)
		return error_context(err, "overlay over /usr");
	return 0;
}

static int try_overlay(const struct probe *probe, struct error *err)
{
	const struct host *host = probe->host;
	struct probe_result *result = probe->result;

	/* The way plan chooses for this caller; the other one would prove nothing. */
	if (!host->privileged || !host->root_idmappable) {
		(void)snprintf(result->detail, sizeof(result->detail),
			       "one overlay per top-level directory");
		return try_forest(probe, err);
	}
	(void)snprintf(result->detail, sizeof(result->detail), "whole root, ids mapped to %u",
		       host->id_base);
	return try_idmapped(probe, err);
}

/* What a mask layer is made of. */
static int try_masks(const struct probe *probe, struct error *err)
{
	struct overlay_layers layers;
	int tmpfs = -1;
	bool is_root = probe->host->privileged;

	if (is_root ? unshare(CLONE_NEWNS) < 0
		    : enter_namespaces(probe->host, CLONE_NEWNS, err) < 0)
		return -1;
	if (make_upper(&layers, &tmpfs, err) < 0)
		return -1;
	if (mknodat(tmpfs, "whiteout", S_IFCHR, makedev(0, 0)) < 0)
		return error_errno(err, ERROR_HOST, "a whiteout was refused");
	return 0;
}

static int try_limits(const struct probe *probe, struct error *err)
{
	const struct host_cgroup *found = &probe->host->cgroup;
	const struct spec_limits limits = { .mem_bytes = 64 << 20, .pids = 16 };
	struct cgroup_place place = {
		.unified = found->kind == CGROUP_V2,
		.v2_path = found->v2_path,
		.memory_path = found->memory_path,
		.pids_path = found->pids_path,
		.cpu_path = found->cpu_path,
		.cpuacct_path = found->cpuacct_path,
	};
	struct cgroup group;
	char name[32];

	if (found->kind == CGROUP_NONE)
		return error_set(err, ERROR_HOST,
				 "no control group in which this user may make others");
	(void)snprintf(name, sizeof(name), "doctor-%ld", (long)getpid());
	if (cgroup_create(&place, name, &limits, &group, err) < 0)
		return -1;
	int removed = cgroup_remove(&group, 1000);

	cgroup_done(&group);
	if (removed < 0)
		return error_set(err, ERROR_HOST, "a control group cannot be removed");
	(void)snprintf(probe->result->detail, sizeof(probe->result->detail), "cgroup %s",
		       place.unified ? "v2" : "v1");
	return 0;
}

static int try_disk(const struct probe *probe, struct error *err)
{
	static const char block[65536];
	int tmpfs = -1, fd;

	if (probe->host->privileged ? unshare(CLONE_NEWNS) < 0
				    : enter_namespaces(probe->host, CLONE_NEWNS, err) < 0)
		return -1;
	if (mount_tmpfs(sizeof(block), 0, 0, &tmpfs, err) < 0)
		return -1;
	fd = openat(tmpfs, "fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "a file in a tmpfs of its own");
	if (fd_write_all(fd, block, sizeof(block)) == 0 && fd_write_all(fd, block, 4096) == 0)
		return error_set(err, ERROR_HOST, "a tmpfs holds more than its size");
	if (!probe->host->privileged && !storage_fits_tmpfs()) {
		probe->result->is_weaker = true;
		(void)error_set(err, ERROR_HOST,
				"layers are on disk; who fills them is ended, not refused");
	}
	(void)snprintf(probe->result->detail, sizeof(probe->result->detail),
		       "tmpfs of bounded size");
	return 0;
}

static int try_layer(const struct probe *probe, struct error *err)
{
	switch (probe->layer) {
	case LAYER_USER:
		return enter_user_namespace(probe->host, err);
	case LAYER_MOUNT:
		return try_mount(probe, err);
	case LAYER_PID:
		return try_pid(probe, err);
	case LAYER_NET:
		return enter_namespaces(probe->host, CLONE_NEWNET, err);
	case LAYER_IPC:
		return enter_namespaces(probe->host, CLONE_NEWIPC, err);
	case LAYER_UTS:
		return enter_namespaces(probe->host, CLONE_NEWUTS, err);
	case LAYER_CGROUP:
		return enter_namespaces(probe->host, CLONE_NEWCGROUP, err);
	case LAYER_SECCOMP:
		return try_seccomp(probe, err);
	case LAYER_LANDLOCK:
		return try_landlock(probe, err);
	case LAYER_OVERLAY:
		return try_overlay(probe, err);
	case LAYER_MASKS:
		return try_masks(probe, err);
	case LAYER_LIMITS:
		return try_limits(probe, err);
	case LAYER_DISK:
		return try_disk(probe, err);
	case LAYER_COUNT:
		break;
	}
	return error_set(err, ERROR_INTERNAL, "no such layer");
}

__attribute__((noreturn)) static void run_probe(struct probe *probe, int result_fd)
{
	struct error *err = &probe->result->error;

	(void)alarm(PROBE_SECONDS);
	/* A step that fails without a message has errno. */
	err->code = ERROR_NONE;
	probe->result->works = try_layer(probe, err) == 0;
	if (!probe->result->works && err->code == ERROR_NONE)
		(void)error_errno(err, ERROR_HOST, "refused");
	_exit(fd_write_all(result_fd, probe->result, sizeof(*probe->result)) < 0);
}

void probe_layer(const struct host *host, enum layer layer, struct probe_result *ret_result)
{
	struct probe probe = { .host = host, .layer = layer, .result = ret_result };
	struct probe_result answer;
	struct error ignored;
	size_t used = 0;

	memset(ret_result, 0, sizeof(*ret_result));
	(void)error_set(&ret_result->error, ERROR_HOST, "the attempt ended without an answer");
	owned(fd_close) int fd = -1;
	pid_t child = child_fork(CHILD_WRITES, 0, &fd, &ignored);

	if (child == 0)
		run_probe(&probe, fd);
	if (child < 0)
		return;
	while (used < sizeof(answer)) {
		ssize_t got = read(fd, (char *)&answer + used, sizeof(answer) - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (used == sizeof(answer))
		*ret_result = answer;
	(void)child_wait(child);
}
