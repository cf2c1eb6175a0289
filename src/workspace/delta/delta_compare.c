/* SPDX-License-Identifier: Apache-2.0 */
/* Two objects of one type: in what they differ. What costs nothing is asked first. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/delta/delta_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

/* Two files of one size, read beside each other. */
struct pair {
	int new, old;
	off_t size;
	bool is_sparse; /* one of them has less on disk than its size */
};

/* Where the next data of FD is, from AT on; the end when there is none, AT when the filesystem does not support the question. */
static off_t next_data(int fd, off_t at, off_t size)
{
	off_t next = lseek(fd, at, SEEK_DATA);

	if (next < 0)
		return errno == ENXIO ? size : at;
	return next > size ? size : next;
}

/* Over holes that both have: a terabyte of nothing takes no time. */
static off_t skip_holes(const struct pair *pair, off_t at)
{
	if (!pair->is_sparse)
		return at;
	off_t new = next_data(pair->new, at, pair->size);
	off_t old = new > at ? next_data(pair->old, at, pair->size) : at;

	return new < old ? new : old;
}

/* Whether they are equal; what cannot be compared to the end counts as changed, with a flag set. */
static bool is_equal_content(struct delta_walk *walk, const struct pair *pair, unsigned *flags)
{
	char *ours = walk->buffers + DELTA_BUFFER, *theirs = ours + DELTA_BUFFER;

	for (off_t at = skip_holes(pair, 0); at < pair->size; at = skip_holes(pair, at)) {
		off_t left = pair->size - at;
		size_t size = left < (off_t)DELTA_BUFFER ? (size_t)left : DELTA_BUFFER;

		if (!delta_may_compare(walk, size)) {
			*flags |= FLAG_TOO_LARGE;
			return false;
		}
		if (fd_read_at(pair->new, ours, size, at) != (ssize_t)size ||
		    fd_read_at(pair->old, theirs, size, at) != (ssize_t)size ||
		    memcmp(ours, theirs, size) != 0)
			return false;
		at += (off_t)size;
	}
	return true;
}

static bool is_sparse(const struct stat *st)
{
	return (off_t)st->st_blocks * 512 < st->st_size;
}

static bool is_equal_file(struct delta_walk *walk, const struct delta_object *new,
			  const struct delta_object *old, unsigned *flags)
{
	const struct stat *ours = &new->stat->st, *theirs = &old->stat->st;

	if (ours->st_size != theirs->st_size)
		return false;
	if (ours->st_size == 0)
		return true;
	if (!new->fd || !old->fd)
		return false;
	struct pair pair = { *new->fd, *old->fd, ours->st_size,
			     is_sparse(ours) || is_sparse(theirs) };

	return is_equal_content(walk, &pair, flags);
}

/* Files that may have the same content are opened, once, for that and for their attributes. */
static bool is_worth_opening(const struct stat *ours, const struct stat *theirs)
{
	return S_ISREG(ours->st_mode) && ours->st_size == theirs->st_size && ours->st_size > 0;
}

/* Just seen to be a file; should another one have come since, it compares as what it is, and nothing waits. */
static int open_file(const struct delta_object *object)
{
	return openat(object->at->fd, object->name,
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static bool is_equal_link(const struct delta_object *new, const struct delta_object *old)
{
	char ours[PATH_MAX], theirs[PATH_MAX];
	ssize_t len = readlinkat(new->at->fd, new->name, ours, sizeof(ours));

	return len >= 0 && readlinkat(old->at->fd, old->name, theirs, sizeof(theirs)) == len &&
	       memcmp(ours, theirs, (size_t)len) == 0;
}

static bool is_equal(struct delta_walk *walk, const struct delta_object *new,
		     const struct delta_object *old, unsigned *flags)
{
	switch (new->stat->st.st_mode &S_IFMT) {
	case S_IFREG:
		return is_equal_file(walk, new, old, flags);
	case S_IFLNK:
		return is_equal_link(new, old);
	case S_IFCHR:
	case S_IFBLK:
		return new->stat->st.st_rdev == old->stat->st.st_rdev;
	default:
		return true;
	}
}

static bool is_equal_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* In a plain user's sandbox no process can change an owner. */
static bool is_of_user(const struct delta_walk *walk, const struct delta_object *new)
{
	return S_ISDIR(new->stat->st.st_mode) && walk->stack->user_xattr[new->at->layer];
}

/*
 * A plain user's root is a skeleton of directories that belong to the caller and have no set-id bits, whatever the
 * host's have.
 */
static bool is_of_skeleton(const struct delta_walk *walk, const struct delta_object *new)
{
	return is_of_user(walk, new) && strcmp(walk->root.unit->path, "/") == 0;
}

/* Likewise the directories of masks, and those of a private copy: only one that was made anew has another owner. */
static bool keeps_owner(const struct delta_walk *walk, const struct delta_object *new)
{
	return is_of_skeleton(walk, new) || (new->is_merged &&is_of_user(walk, new));
}

static unsigned compare_open(struct delta_walk *walk, const struct delta_object *new,
			     const struct delta_object *old, unsigned *flags)
{
	const struct stat *ours = &new->stat->st, *theirs = &old->stat->st;
	bool is_skeleton = is_of_skeleton(walk, new);
	mode_t bits = is_skeleton ? 01777 : 07777;
	unsigned aspects = 0;

	if (!is_equal(walk, new, old, flags))
		aspects |= ASPECT_CONTENT;
	if (!S_ISLNK(ours->st_mode) && ((ours->st_mode ^ theirs->st_mode) & bits))
		aspects |= ASPECT_MODE;
	if ((ours->st_uid != theirs->st_uid || ours->st_gid != theirs->st_gid) &&
	    !keeps_owner(walk, new))
		aspects |= ASPECT_OWNER;
	if (delta_attributes_differ(walk->stack, new, old, flags))
		aspects |= ASPECT_XATTR;
	/* That of a directory moves with every entry. */
	if (!S_ISDIR(ours->st_mode) && !is_equal_time(&ours->st_mtim, &theirs->st_mtim))
		aspects |= ASPECT_MTIME;
	return aspects;
}

unsigned delta_compare(struct delta_walk *walk, const struct delta_object *new,
		       const struct delta_object *old, unsigned *flags)
{
	const struct stat *ours = &new->stat->st, *theirs = &old->stat->st;
	struct delta_object open_new = *new, open_old = *old;
	owned(fd_close) int new_fd = -1, old_fd = -1;

	/* One object that both points see. Across layers equal numbers vouch for nothing. */
	if (new->at->layer == old->at->layer && ours->st_dev == theirs->st_dev &&
	    ours->st_ino == theirs->st_ino)
		return 0;
	if (is_worth_opening(ours, theirs)) {
		new_fd = open_file(new);
		old_fd = open_file(old);
	}
	open_new.fd = new_fd < 0 ? NULL : &new_fd;
	open_old.fd = old_fd < 0 ? NULL : &old_fd;
	return compare_open(walk, &open_new, &open_old, flags);
}
