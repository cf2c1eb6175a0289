/* SPDX-License-Identifier: Apache-2.0 */
/* What is made anew in every sandbox: /proc, /sys, /dev, /run, /tmp. */
#include "confine/root/fresh.h"

#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "base/core/str.h"
#include "confine/mask/mask.h"
#include "confine/root/mount.h"
#include "confine/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALED (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define SEALED_NOEXEC (SEALED | MOUNT_ATTR_NOEXEC)

struct directory {
	const char *name;
	mode_t mode;
};

static const struct directory directories[] = {
	{ "run", 0755 },
	{ "run/aisbx", 0755 },
	{ "run/lock", 01777 },
	{ "run/secrets", 0700 },
	{ "tmp", 01777 },
	{ "vartmp", 01777 },
	{ "shm", 01777 },
	{ "sys", 0755 },
	{ "sys/devices", 0755 },
	{ "sys/devices/system", 0755 },
	{ "sys/devices/system/cpu", 0755 },
	{ "sys/devices/system/node", 0755 },
	{ "sys/kernel", 0755 },
	{ "sys/kernel/mm", 0755 },
	{ "sys/kernel/mm/transparent_hugepage", 0755 },
	{ "sys/fs", 0755 },
	{ "sys/fs/cgroup", 0755 },
	{ "dev", 0755 },
	{ "dev/pts", 0755 },
	{ "dev/shm", 0755 },
	{ "dev/mqueue", 0755 },
	{ "void", 0555 },
	{ "corner", 0755 },
	{ "corner/proc", 0755 },
	{ "corner/sys", 0755 },
	{ "corner/dev", 0755 },
	{ "corner/host", 0755 },
};

static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };

static const char *const links[][2] = {
	{ "dev/fd", "/proc/self/fd" },	     { "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
	{ "dev/ptmx", "pts/ptmx" },
};

/* About the host. Files that only root may read need none: the host's root is not mapped inside. */
static const char *const proc_hidden[] = {
	"acpi",	       "asound",      "config.gz",     "interrupts", "iomem",	 "ioports",
	"kallsyms",    "kcore",	      "key-users",     "keys",	     "kmsg",	 "kpagecgroup",
	"kpagecount",  "kpageflags",  "latency_stats", "modules",    "mtrr",	 "pagetypeinfo",
	"sched_debug", "schedstat",   "scsi",	       "slabinfo",   "softirqs", "timer_list",
	"timer_stats", "vmallocinfo", "vmcore",	       "allocinfo",  "driver",	 "dynamic_debug",
};

static const char *const proc_readonly[] = { "bus", "fs", "irq", "sys", "sysrq-trigger" };

static const char *const sys_shown[] = {
	"devices/system/cpu",
	"devices/system/node",
	"kernel/mm/transparent_hugepage",
};

static int make_empty_file(int dir_fd, const char *name, mode_t mode)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	return fd < 0 ? -1 : 0;
}

/* A random uuid of version 4. */
static int make_boot_id(int dir_fd, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, "boot_id", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	unsigned char r[16];

	if (fd < 0 || getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return error_errno(err, ERROR_HOST, "fresh boot id");
	r[6] = (unsigned char)(0x40 | (r[6] & 0x0f));
	r[8] = (unsigned char)(0x80 | (r[8] & 0x3f));
	if (dprintf(fd, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n",
		    r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12],
		    r[13], r[14], r[15]) < 0)
		return error_errno(err, ERROR_HOST, "fresh boot id");
	return 0;
}

static int fill_gpu(const struct spec *spec, int dir_fd, struct error *err)
{
	for (size_t i = 0; i < spec->gpu.count; i++) {
		char path[SPEC_GPU_NAME_MAX + 8];

		if (str_starts(spec->gpu.items[i], SPEC_GPU_PARTS "/") &&
		    mkdirat(dir_fd, "dev/" SPEC_GPU_PARTS, 0755) < 0 && errno != EEXIST)
			return error_errno(err, ERROR_HOST, "fresh " SPEC_GPU_PARTS);
		(void)snprintf(path, sizeof(path), "dev/%s", spec->gpu.items[i]);
		if (make_empty_file(dir_fd, path, 0444) < 0)
			return error_errno(err, ERROR_HOST, "fresh %s", path);
	}
	return 0;
}

/* For servers with an id of their own, which cannot make them: /run is the sandbox's user's. */
static int fill_run(const struct spec *spec, int dir_fd, struct error *err)
{
	for (size_t i = 0; i < spec->run_dirs.count; i++) {
		struct spec_run_dir dir = { .mode = 0 };
		char path[80];

		(void)spec_run_dir_read(spec->run_dirs.items[i], &dir);
		(void)snprintf(path, sizeof(path), "run/%s", dir.name);
		/* Two services may share one. */
		if ((mkdirat(dir_fd, path, 0700) < 0 && errno != EEXIST) ||
		    fchownat(dir_fd, path, dir.uid, dir.gid, AT_SYMLINK_NOFOLLOW) < 0 ||
		    fchmodat(dir_fd, path, dir.mode, 0) < 0)
			return error_errno(err, ERROR_HOST, "fresh %s", path);
	}
	return 0;
}

static int fill_tmpfs(int dir_fd, struct error *err)
{
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		if (mkdirat(dir_fd, directories[i].name, directories[i].mode) < 0)
			return error_errno(err, ERROR_HOST, "fresh %s", directories[i].name);
	}
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "dev/%s", devices[i]);
		if (make_empty_file(dir_fd, path, 0444) < 0)
			return error_errno(err, ERROR_HOST, "fresh %s", path);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (symlinkat(links[i][1], dir_fd, links[i][0]) < 0)
			return error_errno(err, ERROR_HOST, "fresh %s", links[i][0]);
	}
	if (make_empty_file(dir_fd, "none", 0444) < 0)
		return error_errno(err, ERROR_HOST, "fresh files");
	return make_boot_id(dir_fd, err);
}

/* What masks show, read-only: a bind takes over the flags of its source. */
static int open_mask_sources(struct fresh *fresh, struct error *err)
{
	owned(fd_close) int clone = -1;

	if (mount_clone(fresh->tmpfs_fd, "", &clone, err) < 0 ||
	    mount_attributes(clone, SEALED_NOEXEC | MOUNT_ATTR_RDONLY, err) < 0 ||
	    mount_park(clone, err) < 0)
		return -1;
	fresh->none_fd = openat(clone, "none", O_PATH | O_CLOEXEC);
	fresh->void_fd = openat(clone, "void", O_PATH | O_CLOEXEC);
	fresh->boot_id_fd = openat(clone, "boot_id", O_PATH | O_CLOEXEC);
	if (fresh->none_fd < 0 || fresh->void_fd < 0 || fresh->boot_id_fd < 0)
		return error_errno(err, ERROR_HOST, "masks");
	return 0;
}

/* An empty workspace lies below /tmp or /var/tmp, which are parts of this tmpfs. */
static int make_workspace(int tmpfs_fd, const char *path, struct error *err)
{
	static const char *const places[][2] = { { "/tmp/", "tmp" }, { "/var/tmp/", "vartmp" } };
	char name[64];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!str_starts(path, places[i][0]))
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", places[i][1],
			       path + strlen(places[i][0]));
		if (mkdirat(tmpfs_fd, name, 0755) == 0)
			return 0;
	}
	return error_errno(err, ERROR_HOST, "empty workspace %s", path);
}

int fresh_proc(int *ret_fd, struct error *err)
{
	static const char *const no_options[] = { NULL };

	if (mount_instance("proc", no_options, SEALED_NOEXEC, ret_fd, err) < 0)
		return error_context(err,
				     "a fresh /proc is refused; in a container, unmask its /proc");
	return 0;
}

/* Attaches directory NAME of the tmpfs at PATH below the root; a root without that directory is left alone. */
static int attach_part(int tmpfs_fd, const char *name, uint64_t attributes, int root_fd,
		       const char *path, struct error *err)
{
	owned(fd_close) int part = -1;

	if (mount_clone(tmpfs_fd, name, &part, err) < 0 ||
	    mount_attributes(part, attributes, err) < 0)
		return -1;
	if (mount_attach(part, root_fd, path, err) < 0)
		return err->errnum == ENOENT ? 0 : -1;
	return 0;
}

/*
 * The classic bind call is a third cheaper than open_tree with move_mount, and there are twenty of them. TARGET is
 * relative to the working directory (the corner) and lies on a filesystem made here.
 */
static int bind_over(int source_fd, const char *target)
{
	char source[40];

	(void)snprintf(source, sizeof(source), "/proc/self/fd/%d", source_fd);
	if (mount(source, target, NULL, MS_BIND, NULL) < 0)
		return errno == ENOENT ? 0 : -1;
	return 0;
}

static int hide_proc_entry(const struct fresh *fresh, const char *name)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "proc/%s", name);
	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !(st.st_mode & 0077))
		return 0;
	return bind_over(S_ISDIR(st.st_mode) ? fresh->void_fd : fresh->none_fd, path);
}

static int freeze_proc_entry(const char *name)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | SEALED_NOEXEC };
	char path[64];

	(void)snprintf(path, sizeof(path), "proc/%s", name);
	if (mount(path, path, NULL, MS_BIND, NULL) < 0)
		return errno == ENOENT ? 0 : -1;
	return mount_setattr(AT_FDCWD, path, 0, &attr, sizeof(attr));
}

static int prepare_proc(struct fresh *fresh, struct error *err)
{
	static const char *const options[] = { "hidepid", "invisible", NULL };

	if (mount_instance("proc", options, SEALED_NOEXEC, &fresh->proc_fd, err) < 0 ||
	    mount_attach(fresh->proc_fd, fresh->tmpfs_fd, "corner/proc", err) < 0)
		return error_context(err,
				     "a fresh /proc is refused; in a container, unmask its /proc");
	fresh->quota_fd = sysctl_open_last(fresh->proc_fd);
	for (size_t i = bench_skip("proc-masks") ? sizeof(proc_hidden) : 0;
	     i < sizeof(proc_hidden) / sizeof(proc_hidden[0]); i++) {
		if (hide_proc_entry(fresh, proc_hidden[i]) < 0)
			return error_errno(err, ERROR_HOST, "cannot mask /proc/%s", proc_hidden[i]);
	}
	for (size_t i = 0; i < sizeof(proc_readonly) / sizeof(proc_readonly[0]); i++) {
		if (freeze_proc_entry(proc_readonly[i]) < 0)
			return error_errno(err, ERROR_HOST, "cannot protect /proc/%s",
					   proc_readonly[i]);
	}
	/* By the host's own one two sandboxes could find out that they share a machine. */
	if (bind_over(fresh->boot_id_fd, "proc/sys/kernel/random/boot_id") < 0)
		return error_errno(err, ERROR_HOST, "cannot mask the boot id");
	return 0;
}

/* A clone of directory NAME of the tmpfs as a mount of its own in the corner. */
static int prepare_corner(int tmpfs_fd, const char *name, int *ret_fd, struct error *err)
{
	char corner[16];

	(void)snprintf(corner, sizeof(corner), "corner/%s", name);
	if (mount_clone(tmpfs_fd, name, ret_fd, err) < 0 ||
	    mount_attributes(*ret_fd, SEALED_NOEXEC, err) < 0)
		return -1;
	return mount_attach(*ret_fd, tmpfs_fd, corner, err);
}

static int attach_clone(const char *source, int dir_fd, const char *target, uint64_t attributes,
			struct error *err)
{
	owned(fd_close) int clone =
		open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (clone < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_HOST, "%s", source);
	if (mount_attributes(clone, attributes, err) < 0)
		return error_context(err, "%s", source);
	return mount_attach(clone, dir_fd, target, err);
}

static int prepare_sys(struct fresh *fresh, struct error *err)
{
	char source[64];

	if (prepare_corner(fresh->tmpfs_fd, "sys", &fresh->sys_fd, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(sys_shown) / sizeof(sys_shown[0]); i++) {
		(void)snprintf(source, sizeof(source), "/sys/%s", sys_shown[i]);
		if (attach_clone(source, fresh->sys_fd, sys_shown[i],
				 SEALED_NOEXEC | MOUNT_ATTR_RDONLY, err) < 0)
			return -1;
	}
	return mount_attributes(fresh->sys_fd, MOUNT_ATTR_RDONLY, err);
}

static int bind_device(const char *name)
{
	char source[SPEC_GPU_NAME_MAX + 8], target[SPEC_GPU_NAME_MAX + 8];

	(void)snprintf(source, sizeof(source), "host/%s", name);
	(void)snprintf(target, sizeof(target), "dev/%s", name);
	return mount(source, target, NULL, MS_BIND, NULL);
}

/*
 * The one thing inside that may be a device. Read-only does not stop writing to a device, but it stops `touch` from
 * changing the times of the host's node. The flags are set once, on a clone of the host's /dev, and every bind takes
 * them over.
 */
static int attach_devices(const struct spec *spec, struct fresh *fresh, struct error *err)
{
	owned(fd_close) int host =
		open_tree(AT_FDCWD, "/dev",
			  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_NO_AUTOMOUNT);

	if (host < 0)
		return error_errno(err, ERROR_HOST, "/dev");
	if (mount_attributes(host, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, err) <
		    0 ||
	    mount_attach(host, fresh->tmpfs_fd, "corner/host", err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (bind_device(devices[i]) < 0 && errno != ENOENT)
			return error_errno(err, ERROR_HOST, "/dev/%s", devices[i]);
	}
	/* These were asked for: one that is gone since then is no device of nothing. */
	for (size_t i = 0; i < spec->gpu.count; i++) {
		if (bind_device(spec->gpu.items[i]) < 0)
			return error_errno(err, ERROR_DENIED, "--gpu: /dev/%s", spec->gpu.items[i]);
	}
	return 0;
}

static int prepare_dev(const struct spec *spec, struct fresh *fresh, struct error *err)
{
	static const char *const pts_options[] = { "ptmxmode", "0666", "mode", "0620",
						   "max",      "64",   NULL };
	static const char *const no_options[] = { NULL };
	owned(fd_close) int pts = -1;
	owned(fd_close) int queue = -1;

	if (prepare_corner(fresh->tmpfs_fd, "dev", &fresh->dev_fd, err) < 0)
		return -1;
	if (attach_devices(spec, fresh, err) < 0)
		return -1;
	if (mount_instance("devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &pts,
			   err) < 0 ||
	    mount_attach(pts, fresh->dev_fd, "pts", err) < 0 ||
	    attach_part(fresh->tmpfs_fd, "shm", SEALED, fresh->dev_fd, "shm", err) < 0)
		return -1;
	if (mount_instance("mqueue", no_options, SEALED_NOEXEC, &queue, err) == 0 &&
	    mount_attach(queue, fresh->dev_fd, "mqueue", err) < 0)
		return -1;
	return mount_attributes(fresh->dev_fd, MOUNT_ATTR_RDONLY, err);
}

static int enter_corner(const struct fresh *fresh)
{
	owned(fd_close) int fd =
		openat(fresh->tmpfs_fd, "corner", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fchdir(fd);
}

/*
 * Scratch is memory: more of it than the memory limit is never of use, and without a cgroup never safe. A bound on
 * what may be written holds for it as well.
 */
static uint64_t scratch_bytes(const struct spec_limits *limits)
{
	uint64_t bytes = limits->tmp_bytes + limits->shm_bytes;

	if (limits->mem_bytes && limits->mem_bytes < bytes)
		bytes = limits->mem_bytes;
	return limits->disk_bytes && limits->disk_bytes < bytes ? limits->disk_bytes : bytes;
}

int fresh_prepare(const struct spec *spec, struct fresh *fresh, struct error *err)
{
	uint64_t bytes = scratch_bytes(&spec->limits);

	if (mount_tmpfs(bytes, spec->limits.inodes, SEALED, &fresh->tmpfs_fd, err) < 0 ||
	    fill_tmpfs(fresh->tmpfs_fd, err) < 0 || fill_gpu(spec, fresh->tmpfs_fd, err) < 0 ||
	    fill_run(spec, fresh->tmpfs_fd, err) < 0 || mount_park(fresh->tmpfs_fd, err) < 0)
		return -1;
	/* Before the new root is parked over the same place. */
	if (open_mask_sources(fresh, err) < 0)
		return -1;
	if (spec->workspace_made && make_workspace(fresh->tmpfs_fd, spec->workspace, err) < 0)
		return -1;
	if (enter_corner(fresh) < 0)
		return error_errno(err, ERROR_HOST, "fresh files");
	if (prepare_dev(spec, fresh, err) < 0 || prepare_sys(fresh, err) < 0 ||
	    prepare_proc(fresh, err) < 0)
		return -1;
	return chdir("/") < 0 ? error_errno(err, ERROR_HOST, "/") : 0;
}

/* With a workspace below /run only our own directories there are made anew. */
static int attach_own_only(const struct fresh *fresh, int root_fd, struct error *err)
{
	static const char *const own[] = { "run/aisbx", "run/secrets" };
	owned(fd_close) int run_fd = open_inside(root_fd, "run");

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const char *name = strrchr(own[i], '/') + 1;

		if (run_fd < 0 || (mkdirat(run_fd, name, 0755) < 0 && errno != EEXIST))
			return error_errno(err, ERROR_HOST, "/%s", own[i]);
		if (attach_part(fresh->tmpfs_fd, own[i], SEALED, root_fd, own[i], err) < 0)
			return -1;
	}
	return 0;
}

/* A workspace below /tmp keeps its place: then the mask's empty directory serves as /tmp. */
static int attach_scratch(const struct spec *spec, const struct fresh *fresh, int root_fd,
			  struct error *err)
{
	static const char *const places[][2] = {
		{ "run", "/run" },
		{ "tmp", "/tmp" },
		{ "vartmp", "/var/tmp" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *path = places[i][1];
		bool is_run = i == 0;

		if (is_run && mask_keeps_below(spec, path)) {
			if (attach_own_only(fresh, root_fd, err) < 0)
				return -1;
			continue;
		}
		if (!is_run && (mask_keeps_below(spec, path) || mask_shows(spec, path)))
			continue;
		if (attach_part(fresh->tmpfs_fd, places[i][0], SEALED, root_fd, path, err) < 0)
			return -1;
	}
	return 0;
}

int fresh_attach(const struct spec *spec, const struct fresh *fresh, int root_fd, int cgroup_fd,
		 struct error *err)
{
	if (attach_scratch(spec, fresh, root_fd, err) < 0 ||
	    mount_attach(fresh->dev_fd, root_fd, "dev", err) < 0 ||
	    mount_attach(fresh->sys_fd, root_fd, "sys", err) < 0)
		return -1;
	if (cgroup_fd >= 0 &&
	    (mount_attributes(cgroup_fd, SEALED_NOEXEC | MOUNT_ATTR_RDONLY, err) < 0 ||
	     mount_attach(cgroup_fd, root_fd, "sys/fs/cgroup", err) < 0))
		return -1;
	return mount_attach(fresh->proc_fd, root_fd, "proc", err);
}
