/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts as descriptors: made detached, by the kernel's new mount API, and attached later by the owner of the tree. */
#ifndef CONFINE_MOUNT_H
#define CONFINE_MOUNT_H

#include "base/core/error.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sealed layers, a mask, and the source or an image's layers. */
#define OVERLAY_LOWERS_MAX (SPEC_LAYERS_MAX + 1 + SPEC_IMAGE_LAYERS_MAX)

struct overlay_layers {
	int lowers[OVERLAY_LOWERS_MAX]; /* topmost first; borrowed */
	size_t lower_count;
	int upper, work;    /* borrowed; -1 for a read-only overlay */
	bool user_xattr;    /* mounted inside a user namespace: user.overlay.*, no redirects */
	bool is_base;	    /* to be the lowest layer of another overlay */
	const char *source; /* the host's directory that it shows, for the caller */
	const struct spec_ids *owner; /* of an id-mapped top; NULL: those of the mounting process */
};

/* Closes all of them, for an owner. */
void overlay_layers_close(struct overlay_layers *layers);

/* A new tmpfs as a detached mount. SIZE_BYTES or INODES of 0 mean the kernel's default. */
int mount_tmpfs(uint64_t size_bytes, uint64_t inodes, uint64_t attributes, int *ret_fd,
		struct error *err);

/* A new instance of a kernel filesystem; OPTIONS are pairs of key and value, ended by NULL. */
int mount_instance(const char *type, const char *const *options, uint64_t attributes, int *ret_fd,
		   struct error *err);

/* A detached clone of one mount at PATH below DIR_FD, without what is mounted below it. */
int mount_clone(int dir_fd, const char *path, int *ret_fd, struct error *err);

/* Sets attributes (MOUNT_ATTR_*) on a detached or attached mount. */
int mount_attributes(int mount_fd, uint64_t set, struct error *err);

/* Makes the detached clone show host ids through the map of USERNS_FD. */
int mount_idmap(int mount_fd, int userns_fd, struct error *err);

/*
 * A copy-on-write view. *ret_context_fd (the pointer may be NULL) is what mount_drop_names takes; it holds the filesystem
 * like a mount of it does.
 */
int mount_overlay(const struct overlay_layers *layers, int *ret_fd, int *ret_context_fd,
		  struct error *err);

/*
 * Has the overlay of CONTEXT_FD forget every name that is not in use, by reconfiguring it: the kernel keeps what it once
 * found in a lower layer, or did not find, also when that changes. 0, or -1 with errno. By the owner of the user
 * namespace that it was mounted in; no mount of it need be in sight.
 */
int mount_drop_names(int context_fd, bool is_read_only);

/*
 * Attaches a detached mount at PATH below DIR_FD. No component may be a symbolic link and nothing outside DIR_FD
 * is reached, whatever the tree holds.
 */
int mount_attach(int mount_fd, int dir_fd, const char *path, struct error *err);

/*
 * Attaches a detached mount at a place of this (private) mount namespace that nothing else needs. Kernels before 6.15
 * clone and bind attached mounts only; pivot_root leaves it behind.
 */
int mount_park(int mount_fd, struct error *err);

/*
 * Opens PATH (relative, or absolute and taken as below DIR_FD) without following any symbolic link and without
 * leaving DIR_FD. Returns an O_PATH descriptor or -1 with errno.
 */
int open_inside(int dir_fd, const char *path);

#endif
