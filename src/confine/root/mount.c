/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts as descriptors: tmpfs, overlay, clones, id maps, all detached until attached. */
#include "confine/root/mount.h"

#include "base/core/own.h"
#include "base/process/parent_end.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void overlay_layers_close(struct overlay_layers *layers)
{
	for (size_t i = 0; i < layers->lower_count; i++)
		fd_close(&layers->lowers[i]);
	fd_close(&layers->upper);
	fd_close(&layers->work);
}

static int set_string(int fs_fd, const char *key, const char *value)
{
	return fsconfig(fs_fd, FSCONFIG_SET_STRING, key, value, 0);
}

static int set_number(int fs_fd, const char *key, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return set_string(fs_fd, key, text);
}

static int create(int fs_fd, const char *type, uint64_t attributes, int *ret_fd, struct error *err)
{
	int fd;

	if (fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot create a %s filesystem", type);
	fd = fsmount(fs_fd, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot mount a %s filesystem", type);
	*ret_fd = fd;
	return 0;
}

int mount_tmpfs(uint64_t size_bytes, uint64_t inodes, uint64_t attributes, int *ret_fd,
		struct error *err)
{
	owned(fd_close) int fs_fd = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs_fd < 0)
		return error_errno(err, ERROR_HOST, "no tmpfs here");
	if (set_string(fs_fd, "mode", "0755") < 0 ||
	    (size_bytes && set_number(fs_fd, "size", size_bytes) < 0) ||
	    (inodes && set_number(fs_fd, "nr_inodes", inodes) < 0))
		return error_errno(err, ERROR_HOST, "cannot limit a tmpfs");
	return create(fs_fd, "tmpfs", attributes, ret_fd, err);
}

int mount_instance(const char *type, const char *const *options, uint64_t attributes, int *ret_fd,
		   struct error *err)
{
	owned(fd_close) int fs_fd = fsopen(type, FSOPEN_CLOEXEC);

	if (fs_fd < 0)
		return error_errno(err, ERROR_HOST, "no %s here", type);
	for (; *options; options += 2) {
		if (set_string(fs_fd, options[0], options[1]) < 0)
			return error_errno(err, ERROR_HOST, "%s refuses %s=%s", type, options[0],
					   options[1]);
	}
	return create(fs_fd, type, attributes, ret_fd, err);
}

int mount_clone(int dir_fd, const char *path, int *ret_fd, struct error *err)
{
	unsigned flags =
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;
	int fd = open_tree(dir_fd, path, path[0] ? flags : flags | AT_EMPTY_PATH);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot clone the mount at %s", path);
	*ret_fd = fd;
	return 0;
}

int mount_attributes(int mount_fd, uint64_t set, struct error *err)
{
	struct mount_attr attr = { .attr_set = set };

	if (mount_setattr(mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return error_errno(err, ERROR_HOST, "cannot set mount attributes");
	return 0;
}

int mount_idmap(int mount_fd, int userns_fd, struct error *err)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.userns_fd = (unsigned)userns_fd,
	};

	if (mount_setattr(mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return error_errno(err, ERROR_HOST, "this filesystem cannot be id-mapped");
	return 0;
}

/*
 * Layers by descriptor exist from Linux 6.13 on, appending layers by path from 6.5 on. The path forms need the
 * layer to be attached in this mount namespace; callers on old kernels see to that (root_idmapped.c).
 */
static int set_layer(int fs_fd, const char *key, int layer_fd)
{
	char path[40];

	if (fsconfig(fs_fd, FSCONFIG_SET_FD, key, NULL, layer_fd) == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", layer_fd);
	return set_string(fs_fd, key, path);
}

static int set_lowers_by_path(int fs_fd, const struct overlay_layers *layers)
{
	char list[OVERLAY_LOWERS_MAX * 32];
	size_t used = 0;

	for (size_t i = 0; i < layers->lower_count; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s/proc/self/fd/%d",
					 i ? ":" : "", layers->lowers[i]);
	return set_string(fs_fd, "lowerdir", list);
}

static int set_options(int fs_fd, const struct overlay_layers *layers)
{
	/* index and metacopy lose information when an upper is sealed; never on. */
	if (set_string(fs_fd, "index", "off") < 0 || set_string(fs_fd, "metacopy", "off") < 0 ||
	    /* One that lies below another must not use up the bits that the upper one tells layers apart by. */
	    set_string(fs_fd, "xino", layers->is_base ? "off" : "on") < 0)
		return -1;
	if (layers->user_xattr)
		return fsconfig(fs_fd, FSCONFIG_SET_FLAG, "userxattr", NULL, 0);
	return set_string(fs_fd, "redirect_dir", "on");
}

static int configure_overlay(int fs_fd, const struct overlay_layers *layers, bool append)
{
	if (append) {
		for (size_t i = 0; i < layers->lower_count; i++) {
			if (set_layer(fs_fd, "lowerdir+", layers->lowers[i]) < 0)
				return -1;
		}
	} else if (set_lowers_by_path(fs_fd, layers) < 0) {
		return -1;
	}
	if (layers->upper >= 0 && (set_layer(fs_fd, "upperdir", layers->upper) < 0 ||
				   set_layer(fs_fd, "workdir", layers->work) < 0 ||
				   fsconfig(fs_fd, FSCONFIG_SET_FLAG, "volatile", NULL, 0) < 0))
		return -1;
	return set_options(fs_fd, layers);
}

/*
 * An overlay writes with the ids of the process that created it. In an id-mapped top the host's root has no id, but the
 * root that the sandbox shows has. The capabilities stay, as without them nothing could be copied up.
 */
static int create_as(const struct spec_ids *owner, int fs_fd, int *ret_fd, struct error *err)
{
	struct parent_end wish;
	int status;

	parent_end_note(&wish);
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot keep capabilities");
	(void)setfsgid(owner->host_gid);
	(void)setfsuid(owner->host_uid);
	status = create(fs_fd, "overlay", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, ret_fd, err);
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	parent_end_renew(&wish);
	return status;
}

static int try_overlay(const struct overlay_layers *layers, bool append, int *ret_fd,
		       int *ret_context_fd, struct error *err)
{
	owned(fd_close) int fs_fd = fsopen("overlay", FSOPEN_CLOEXEC);
	int status;

	if (fs_fd < 0)
		return error_errno(err, ERROR_HOST, "no overlay filesystem here");
	if (configure_overlay(fs_fd, layers, append) < 0)
		return error_errno(err, ERROR_HOST, "the overlay filesystem refuses its layers");
	if (layers->owner)
		status = create_as(layers->owner, fs_fd, ret_fd, err);
	else
		status =
			create(fs_fd, "overlay", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, ret_fd, err);
	/* Mounted, the context is one to reconfigure the filesystem by, as fspick would make it. */
	if (status == 0 && ret_context_fd)
		*ret_context_fd = fd_take(&fs_fd);
	return status;
}

int mount_overlay(const struct overlay_layers *layers, int *ret_fd, int *ret_context_fd,
		  struct error *err)
{
	if (try_overlay(layers, true, ret_fd, ret_context_fd, err) == 0)
		return 0;
	/* The other form needs no fewer descriptors, and would hide what the matter is. */
	if (err->errnum == EMFILE)
		return -1;
	/* Before 6.5 "lowerdir+" is accepted and only the creation fails: so the old form is tried last. */
	return try_overlay(layers, false, ret_fd, ret_context_fd, err);
}

int mount_drop_names(int context_fd, bool is_read_only)
{
	/* Without "ro" the kernel takes this for a request to make a read-only overlay writable, and refuses. */
	if (is_read_only && fsconfig(context_fd, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
		return -1;
	return fsconfig(context_fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
}

int open_inside(int dir_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	while (*path == '/')
		path++;
	return (int)syscall(SYS_openat2, dir_fd, *path ? path : ".", &how, sizeof(how));
}

int mount_attach(int mount_fd, int dir_fd, const char *path, struct error *err)
{
	owned(fd_close) int target = open_inside(dir_fd, path);

	if (target < 0)
		return error_errno(err, ERROR_HOST, "mount point %s", path);
	if (move_mount(mount_fd, "", target, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_errno(err, ERROR_HOST, "cannot mount at %s", path);
	return 0;
}

int mount_park(int mount_fd, struct error *err)
{
	/* Never a place that a workspace or a tool chain can lie in: it would be covered. */
	static const char *const places[] = { "/sys/class", "/proc/fs", "/boot", "/media" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (move_mount(mount_fd, "", AT_FDCWD, places[i], MOVE_MOUNT_F_EMPTY_PATH) == 0)
			return 0;
	}
	return error_errno(err, ERROR_HOST, "no place to attach a mount at");
}
