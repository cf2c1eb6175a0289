/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made anew in every sandbox: /proc, /sys (an allow-list), /dev, /run, /tmp.
 *
 * One tmpfs, made inside the user namespace, holds the directories; each is attached as a mount of its own with
 * its own flags. Runs in init while the host's tree is still visible to it; masks over /proc use an inode of that
 * tmpfs taken by descriptor, never a path the payload could ever have touched.
 */
#ifndef CONFINE_FRESH_H
#define CONFINE_FRESH_H

#include "base/core/error.h"
#include "spec/spec.h"

#include <stdint.h>

struct fresh {
	int tmpfs_fd; /* holds run, tmp, vartmp, shm, sys, dev, corner, and what masks show: none, void, boot_id */
	int proc_fd, sys_fd, dev_fd; /* the mounts that become /proc, /sys and /dev */
	int none_fd, void_fd,
		boot_id_fd; /* what masks over /proc show, read-only: nothing, or our own */
	int quota_fd;	    /* max_mnt_namespaces, opened before /proc/sys became read-only */
};

#define FRESH_INIT                             \
	{                                      \
		-1, -1, -1, -1, -1, -1, -1, -1 \
	}

/*
 * Makes the tmpfs; and /proc with its masks, /sys and /dev, each put together in a corner of the tmpfs while the
 * supervisor still makes the overlays. The caller owns the descriptors.
 */
int fresh_prepare(const struct spec *spec, struct fresh *fresh, struct error *err);

/* An instance of proc that stays detached: nothing is ever mounted over its files. */
int fresh_proc(int *ret_fd, struct error *err);

/* Moves everything below ROOT_FD (the new root, attached). CGROUP_FD: a clone to show read-only, or -1. */
int fresh_attach(const struct spec *spec, const struct fresh *fresh, int root_fd, int cgroup_fd,
		 struct error *err);

#endif
