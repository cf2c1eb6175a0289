/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bases that the host has removed or replaced since they were copied up: the inode is there as long as the sandbox's root
 * is mounted, and the kernel's mark on the copy holds the handle that opens it. Root only: a handle opens any file.
 */
#include "base/core/own.h"
#include "workspace/disk/handle.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"
#include "workspace/txn/txn_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's caller waits while it is copied. */
#define PINNED_MAX (64u << 20)

/* A directory of the filesystem that PATH (absolute) lies on, or would. */
static int open_near(const struct origin_index *index, const char *path)
{
	const char *relative = target_relative(index->sandbox->workspace, path), *name;
	int fd = -1;

	if (!relative || target_parent(index->workspace_fd, relative, &fd, &name) < 0)
		return -1;
	/* A handle is opened by a real descriptor, not by one that is only a place. */
	owned(fd_close) int place = fd;

	return openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Gone from every directory, so it cannot be written to by name any more, and not written to since it was copied up. What
 * the sandbox's own layers hold has names.
 */
static bool is_base(int fd, const struct delta_side *copy, struct txn_identity *ret_identity)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0 ||
	    st.st_size > PINNED_MAX)
		return false;
	txn_identity_of(fd, "", ret_identity);
	return copy->btime_ns > 0 && ret_identity->exists && ret_identity->mtime_ns > 0 &&
	       (uint64_t)ret_identity->mtime_ns < copy->btime_ns;
}

int origin_pin(const struct origin_index *index, const struct delta_entry *entry,
	       struct origin *origin, struct error *err)
{
	const struct delta_side *copy = &entry->new;
	owned(txn_attributes_done) struct txn_attributes meta = { 0 };
	struct txn_identity identity;
	struct handle note;

	if (geteuid() != 0 || !index->times_hold || !copy->exists || !S_ISREG(copy->st.st_mode) ||
	    copy->layer >= index->stack->count || index->stack->user_xattr[copy->layer])
		return 0;
	owned(fd_close) int copy_fd = delta_open_side(index->stack, copy);
	owned(fd_close) int near_fd = open_near(index, entry->path);

	if (near_fd < 0 || !handle_read_note(copy_fd, false, &note))
		return 0;
	owned(fd_close) int fd = handle_open(near_fd, &note);

	if (fd < 0 || !is_base(fd, copy, &identity) || txn_meta_read(fd, true, &meta) < 0)
		return 0;
	if (origin_keep(index->sandbox->store, fd, &identity, origin->sha256, err) < 0)
		return -1;
	/* It was written to through an open descriptor. */
	if (!origin->sha256[0])
		return 0;
	origin_digest_xattrs(&meta.xattrs, origin->xattrs);
	origin->quality = ORIGIN_PINNED;
	origin->identity = identity;
	return 0;
}
