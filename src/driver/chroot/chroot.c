/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chroot driver, for root alone: this machine read-only in a mount namespace, masks mounted over it, the private copy at the
 * workspace's place, ids that no account has and nothing else.
 */
#include "driver/copied.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "confine/landlock.h"
#include "driver/copied_masks.h"
#include "observe/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define RECURSIVE 0x8000 /* AT_RECURSIVE */
/* Signals to the processes of root's other sandboxes, which have the same ids. */
#define ABI_NEEDED 6

extern const struct driver driver_chroot;

static int chroot_probe(struct error *err)
{
	if (geteuid() != 0)
		return error_advise(err, ERROR_DENIED, "use linux, bwrap or landlock",
				    "the chroot driver is for root");
	if (landlock_abi() < ABI_NEEDED)
		return error_set(err, ERROR_DENIED, "Landlock with ABI %d is needed for signals",
				 ABI_NEEDED);
	if (!descendants_are_known())
		return error_set(err, ERROR_DENIED,
				 "this kernel does not tell the children of a process");
	return 0;
}

static int chroot_check(const struct spec *spec, struct error *err)
{
	if (spec->ids.count <= 1)
		return error_set(err, ERROR_DENIED, "the chroot driver is for root");
	return copied_check(&driver_chroot, spec, err);
}

/* In the payload: where the new root is being made, and whose its empty directories are. */
struct building {
	char *root;
	char options[64];
	int ruleset_fd;
};

/* A mount that is read-only does not hold fifos: what can be written to is named to Landlock. */
static int allow(const struct building *building, const char *path, uint64_t access)
{
	owned(free_ptr) char *at = xasprintf("%s%s", building->root, path);
	owned(fd_close) int fd = open(at, O_PATH | O_CLOEXEC);

	return fd < 0 ? -1 : landlock_allow(building->ruleset_fd, fd, access);
}

static int mount_empty(const struct building *building, const char *path)
{
	owned(free_ptr) char *at = xasprintf("%s%s", building->root, path);

	if (mount("none", at, "tmpfs", MS_NOSUID | MS_NODEV, building->options) < 0)
		return -1;
	return allow(building, path, LANDLOCK_OWN);
}

static int mount_bind(const struct building *building, const char *from, const char *path)
{
	owned(free_ptr) char *at = xasprintf("%s%s", building->root, path);

	return mount(from, at, NULL, MS_BIND, NULL);
}

static int mount_device(const struct building *building, const char *from, const char *path)
{
	owned(free_ptr) char *at = xasprintf("%s%s", building->root, path);

	return copied_bind_device(from, at);
}

static int lock_mount(const struct building *building, const char *path, unsigned flags)
{
	const struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
						     MOUNT_ATTR_NODEV };
	owned(free_ptr) char *at = xasprintf("%s%s", building->root, path);

	return (int)syscall(SYS_mount_setattr, AT_FDCWD, at, flags, &attr, sizeof(attr));
}

/* In a directory that was emptied the place has to be made first. */
static int make_place(const struct building *building, const char *path, bool is_file)
{
	owned(free_ptr) char *at = xasprintf("%s%s", building->root, path);

	for (char *slash = strchr(at + strlen(building->root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(at, 0755);
		*slash = '/';
	}
	if (!is_file)
		return mkdir(at, 0755) < 0 && errno != EEXIST && errno != EROFS ? -1 : 0;
	owned(fd_close) int fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	return fd < 0 && access(at, F_OK) < 0 ? -1 : 0;
}

static int mount_mask(enum copied_mask mask, const char *path, void *cookie, struct error *err)
{
	const struct building *building = cookie;
	bool is_kept = mask == COPIED_KEEP || mask == COPIED_KEEP_FILE;
	int done;

	if (is_kept)
		done = make_place(building, path, mask == COPIED_KEEP_FILE) < 0 ||
				       mount_bind(building, path, path) < 0
			       ? -1
			       : lock_mount(building, path, 0);
	else
		done = mask == COPIED_EMPTY ? mount_empty(building, path)
					    : mount_device(building, "/dev/null", path);
	/* A place that this machine does not have needs no mask. */
	return done < 0 && errno != ENOENT ? error_errno(err, ERROR_DENIED, "cannot mask %s", path)
					   : 0;
}

static int mount_devices(const struct building *building)
{
	if (mount_empty(building, "/dev") < 0)
		return -1;
	for (size_t i = 0; copied_devices[i]; i++) {
		const char *device = copied_devices[i];

		if (make_place(building, device, true) < 0 ||
		    mount_device(building, device, device) < 0 ||
		    allow(building, device, LANDLOCK_DEVICE) < 0)
			return -1;
	}
	return 0;
}

static int build(const struct building *building, const struct copied_task *task, struct error *err)
{
	const struct spec *spec = task->spec;
	owned(free_ptr) char *copy = xasprintf("%s/ws", spec->copy_dir);

	if (mount("/", building->root, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    lock_mount(building, "", RECURSIVE) < 0 || allow(building, "", LANDLOCK_READS) < 0 ||
	    mount_empty(building, "/proc") < 0 || mount_empty(building, "/sys") < 0 ||
	    mount_devices(building) < 0)
		return error_errno(err, ERROR_DENIED, "cannot make the root");
	if (copied_masks(spec, mount_mask, (void *)(uintptr_t)building, err) < 0)
		return -1;
	if (make_place(building, spec->workspace, false) < 0 ||
	    mount_bind(building, copy, spec->workspace) < 0 ||
	    allow(building, spec->workspace, LANDLOCK_OWN) < 0)
		return error_errno(err, ERROR_DENIED, "cannot mount the copy of the workspace");
	return 0;
}

static int enter(struct copied_task *task, struct error *err)
{
	const struct spec_ids *ids = &task->spec->ids;
	struct building building = { .root = xasprintf("%s/root", task->spec->copy_dir),
				     .ruleset_fd = landlock_ruleset() };
	int status;

	(void)snprintf(building.options, sizeof(building.options),
		       "mode=0755,size=64m,uid=%u,gid=%u", ids->host_uid + ids->uid,
		       ids->host_gid + ids->gid);
	task->own_fd = building.ruleset_fd;
	if (building.ruleset_fd < 0)
		status = error_errno(err, ERROR_DENIED, "cannot make a Landlock ruleset");
	else if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
		 mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		 (mkdir(building.root, 0755) < 0 && errno != EEXIST))
		status = error_errno(err, ERROR_DENIED, "cannot make a mount namespace");
	else
		status = build(&building, task, err);
	if (status == 0 && (chdir(building.root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
			    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0))
		status = error_errno(err, ERROR_DENIED, "cannot enter the root");
	free(building.root);
	return status;
}

static int lock(struct copied_task *task, int *ret_listener_fd, struct error *err)
{
	if (landlock_restrict(task->own_fd) < 0)
		return error_errno(err, ERROR_DENIED, "cannot apply Landlock");
	return copied_filter(task, ret_listener_fd, err);
}

static const struct copied_wall wall = {
	.driver = &driver_chroot, .keeps_paths = true, .enter = enter, .lock = lock
};

static int chroot_start(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
			struct error *err)
{
	return copied_start(&wall, spec, io, ret_task, err);
}

const struct driver driver_chroot = {
	.name = "chroot",
	.summary = "for root: this machine read-only, a private copy of the workspace, no user "
		   "namespace",
	.isolation = "chroot",
	.strength = DRIVER_WEAK,
	.lacks = "user, pid and cgroup namespaces; a network, not even its own; /proc; memory, "
		 "processes and "
		 "disk by sampling; changes outside of the workspace are lost; sandboxes that "
		 "stay; fifos "
		 "of this machine "
		 "that are shown can be read",
	.degraded = 1u << LAYER_USER | 1u << LAYER_PID | 1u << LAYER_CGROUP | 1u << LAYER_OVERLAY |
		    1u << LAYER_LIMITS | 1u << LAYER_DISK,
	.probe = chroot_probe,
	COPIED_VTABLE(chroot_check, chroot_start),
};
