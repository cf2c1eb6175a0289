/* SPDX-License-Identifier: Apache-2.0 */
/* Copying one object to a slot, complete: content with its holes, mode, owner, times, attributes. */
#ifndef WORKSPACE_STAGE_H
#define WORKSPACE_STAGE_H

#include "base/core/error.h"
#include "workspace/disk/xattr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct stage_meta {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	bool set_owner;			 /* as root; a plain user's files are the user's */
	const struct xattr_list *xattrs; /* NULL: none */
};

/* A new file NAME in DIR_FD with the content of FROM_FD: reflink, else copy_file_range, else read and write; holes stay. */
int stage_file(int dir_fd, const char *name, int from_fd, const struct stage_meta *meta,
	       struct error *err);
/* The same from memory: merged texts. */
int stage_bytes(int dir_fd, const char *name, const void *bytes, size_t len,
		const struct stage_meta *meta, struct error *err);
int stage_link(int dir_fd, const char *name, const char *target, const struct stage_meta *meta,
	       struct error *err);
int stage_directory(int dir_fd, const char *name, struct error *err);
/* Mode, owner and times of a directory, when it is filled. */
int stage_finish_directory(int dir_fd, const char *name, const struct stage_meta *meta,
			   struct error *err);
int stage_fifo(int dir_fd, const char *name, const struct stage_meta *meta, struct error *err);
/* A device node, of the kind in META's mode. */
int stage_device(int dir_fd, const char *name, dev_t dev, const struct stage_meta *meta,
		 struct error *err);

#endif
