/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read leases on files that are about to be displaced.
 *
 * Open for writing elsewhere, a file gets none: busy. Held, a later writer waits in open() until we are through, and we see
 * it waiting. As many are held as descriptors allow; the others are looked at again when everything is displaced, since by
 * then a file can no longer be opened by its name. They need the file's owner or CAP_LEASE; without, identities alone must do.
 */
#include "base/core/own.h"
#include "workspace/txn/txn_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors for the rest: directories that are kept open, the caller's own. */
#define OTHERS_MAX 768u

/* Whether the item displaces a file, and which: *ret_fd and *ret_name say where it is. */
static bool displaces_file(struct txn *txn, size_t index, bool forward, int *ret_fd,
			   const char **ret_name)
{
	const struct txn_item *item = &txn->items[index];
	const struct txn_identity *there = forward ? &item->old : &item->new;

	if (item->kind == TXN_META || item->kind == TXN_MOVE || !there->exists)
		return false;
	return S_ISREG(there->mode) && txn_where(txn, index, false, ret_fd, ret_name) == 0;
}

/* An open file with a lease, or -1 with errno: EAGAIN when it is open for writing elsewhere. */
static int lease(int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);

	if (fd < 0 && errno == EPERM)
		fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* The lease is polled, so the signal for a waiting writer is one that is ignored by default. */
	if (fd < 0 || fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return -1;
	return fd_take(&fd);
}

/* How many of WANTED leases can be held; makes room for them as far as allowed, until they are dropped. */
static size_t make_room(struct txn *txn, size_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur < wanted + OTHERS_MAX) {
		txn->descriptors_before = limit.rlim_cur;
		limit.rlim_cur =
			limit.rlim_max < wanted + OTHERS_MAX ? limit.rlim_max : wanted + OTHERS_MAX;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			return 0;
	}
	if (limit.rlim_cur <= OTHERS_MAX)
		return 0;
	return limit.rlim_cur - OTHERS_MAX < wanted ? limit.rlim_cur - OTHERS_MAX : wanted;
}

void txn_lease_all(struct txn *txn, bool forward, struct txn_result *result)
{
	size_t held = 0, max = make_room(txn, txn->count);

	txn->is_leased = true;
	for (size_t i = 0; i < txn->count; i++) {
		const char *name;
		int fd;

		if (txn->items[i].is_new == forward || !displaces_file(txn, i, forward, &fd, &name))
			continue;
		owned(fd_close) int leased = lease(fd, name);

		if (leased < 0 && errno == EAGAIN)
			txn_conflict_add(result, txn, i, "busy");
		/* Beyond what may be open at once it is looked at and let go. */
		if (leased < 0 || held >= max)
			continue;
		txn->items[i].lease_fd = fd_take(&leased);
		held++;
	}
}

bool txn_lease_is_broken(const struct txn_item *item)
{
	return item->lease_fd >= 0 && fcntl(item->lease_fd, F_GETLEASE) != F_RDLCK;
}

/* No leases on such a file, or not for this caller. */
static bool is_no_lease(int errnum)
{
	return errnum == EACCES || errnum == EPERM || errnum == EINVAL || errnum == EOPNOTSUPP ||
	       errnum == ENOLCK;
}

int txn_lease_check(struct txn *txn, size_t index, bool forward, bool is_in_place)
{
	struct txn_item *item = &txn->items[index];
	const struct txn_identity *was = forward ? &item->old : &item->new;
	char slot[TXN_NAME_SIZE];
	const char *name = slot;
	int fd;

	item->is_busy = txn_lease_is_broken(item);
	if (item->lease_fd >= 0 || !txn->is_leased || item->kind == TXN_META ||
	    item->kind == TXN_MOVE || !was->exists || !S_ISREG(was->mode)) {
		errno = EBUSY;
		return item->is_busy ? -1 : 0;
	}
	if (is_in_place ? txn_where(txn, index, false, &fd, &name) < 0
			: txn_slot(txn, index, false, &fd, slot) < 0)
		return -1;
	owned(fd_close) int leased = lease(fd, name);

	item->is_busy = leased < 0 && errno == EAGAIN;
	if (item->is_busy)
		errno = EBUSY;
	if (leased < 0 && !is_no_lease(errno))
		return -1;
	errno = ESTALE;
	return txn_is_intact(txn, item, was, fd, name) ? 0 : -1;
}

void txn_lease_drop(struct txn *txn)
{
	for (size_t i = 0; i < txn->count; i++)
		fd_close(&txn->items[i].lease_fd);
	struct rlimit limit;

	if (txn->descriptors_before && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = txn->descriptors_before;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	txn->descriptors_before = 0;
}
