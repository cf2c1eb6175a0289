/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private copy of a workspace, for drivers without an overlay, and what a command changed in it as a layer.
 *
 * The list of what was copied, with inode numbers, and the time of the copy's end tell afterwards what the command touched:
 * the kernel sets the change time of whatever is written, renamed or linked, and no process can set it. What was touched is
 * moved into the unit of a layer, what is missing becomes a whiteout there, so that diff, promote and snapshots read the same
 * format as after an overlay.
 */
#ifndef WORKSPACE_PRIVATE_COPY_H
#define WORKSPACE_PRIVATE_COPY_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct private_copy_entry {
	char *path; /* relative */
	uint64_t ino;
	uint32_t mode, uid, gid;
	bool is_unseen;	       /* the host has it, the copy does not */
	bool is_closed;	       /* a directory that is empty in the copy alone */
	bool holds_unseen;     /* a directory above one of these */
	bool is_seen, is_same; /* by the fold: there, and the same object */
	bool is_open;	       /* by the fold: the layer's directory gets its mode at the end */
};

struct private_copy {
	struct private_copy_entry *items;
	size_t count, room;
	uint64_t copied_ns;	 /* a file's stamp, later than all that was copied */
	int64_t clock_offset_ns; /* realtime minus boottime then */
	uint64_t files, bytes;
	uint64_t unread; /* files and directories that the caller may not read: not in the copy */
	uint64_t stayed; /* by the fold: removed directories that hold what is unseen */
	uint32_t id_shift;
};

struct private_copy_make {
	int from_fd, to_fd;
	uint32_t
		id_shift; /* root's commands have the host's ids plus this; 0: those of the caller */
	/* Whether relative PATH is for the command to see. */
	bool (*shows)(const char *path, void *cookie);
	/* Now and then, with what is done so far; may be NULL. */
	void (*progress)(uint64_t files, uint64_t bytes, void *cookie);
	void *cookie;
};

/*
 * Fills the empty directory TO_FD. Sockets, devices and what the caller may not read are left out and recorded: the command
 * removes no directory that holds such, and puts nothing in their place.
 */
int private_copy_make(const struct private_copy_make *make, struct private_copy *ret_copy,
		      struct error *err);

/*
 * Lays the contents of UNIT_FD, a layer's part for the same workspace, over the copy at TO_FD: to be done from the oldest
 * layer to the newest, behind private_copy_make and before private_copy_settle.
 */
int private_copy_lay(struct private_copy *copy, int to_fd, int unit_fd, bool user_xattr,
		     struct error *err);

/* The copy is complete: what is changed from now on is the command's doing. */
int private_copy_settle(struct private_copy *copy, int to_fd, struct error *err);

/* Of a settled copy; NULL where it has none at PATH. */
struct private_copy_entry *private_copy_find(const struct private_copy *copy, const char *path);

/* Moves what was changed at COPY_FD since then into UNIT_FD. Nothing runs in the copy any more. */
int private_copy_fold(struct private_copy *copy, int copy_fd, int unit_fd, bool user_xattr,
		      struct error *err);

void private_copy_done(struct private_copy *copy);

#endif
