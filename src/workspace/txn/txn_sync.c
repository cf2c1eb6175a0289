/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the disk: what is staged, the journal, the directories that changed. */
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Beyond that one sync of the whole filesystem is cheaper. */
#define STAGED_MAX 256
#define PARENTS_MAX 64

/* Objects to be synced one by one; too many, or one that cannot be opened, and the filesystem is synced whole. */
struct staged {
	int fds[STAGED_MAX];
	size_t count;
	bool is_over;
};

static int add_object(struct staged *staged, int dir_fd, const char *name, mode_t mode)
{
	int fd;

	/* Others are in their directory and nowhere else. */
	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return 0;
	if (staged->count == STAGED_MAX) {
		staged->is_over = true;
		return -1;
	}
	fd = sys_openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0) {
		staged->is_over = errno == EACCES || errno == EMFILE;
		return -1;
	}
	sys_start_writing(fd);
	staged->fds[staged->count++] = fd;
	return 0;
}

static int add_entry(const struct walk_entry *entry, void *cookie)
{
	return add_object(cookie, entry->dir_fd, entry->name, entry->st->stx_mode);
}

static int add_item(struct txn *txn, size_t index, struct staged *staged)
{
	const struct txn_item *item = &txn->items[index];
	struct walk walk = { .purpose = WALK_TXN, .visit = add_entry, .cookie = staged };
	char name[TXN_NAME_SIZE];
	int fd;

	if (item->kind != TXN_ADD && item->kind != TXN_REPLACE)
		return 0;
	if (txn_slot(txn, index, false, &fd, name) < 0 ||
	    add_object(staged, fd, name, item->new.mode) < 0)
		return -1;
	return S_ISDIR(item->new.mode) ? walk_tree(&walk, fd, name) : 0;
}

static int sync_one_by_one(struct txn *txn, struct staged *staged)
{
	for (size_t i = 0; i < txn->count; i++) {
		if (add_item(txn, i, staged) < 0)
			return -1;
	}
	/* All are on their way by now: the first waits for most of the others. */
	for (size_t i = 0; i < staged->count; i++) {
		if (sys_fsync(staged->fds[i]) < 0)
			return -1;
	}
	return 0;
}

/* Each filesystem there are slots on, whole. */
static int sync_places(struct txn *txn)
{
	for (size_t i = 0; i < txn->place_count; i++) {
		const struct txn_place *place = &txn->places[i];

		if (sys_syncfs(*place->path ? place->fd : txn->root_fd) < 0)
			return -1;
	}
	/* Slots beside their targets may be on any mount below the root. */
	for (size_t i = 0; i < txn->parent_count && txn->beside.count > 0; i++) {
		if (txn->parents[i].fd >= 0 && sys_syncfs(txn->parents[i].fd) < 0 && errno != EBADF)
			return -1;
	}
	return 0;
}

int txn_sync_staged(struct txn *txn)
{
	struct staged staged = { .is_over = txn->count > STAGED_MAX || txn->beside.count > 0 };
	int result = staged.is_over ? -1 : sync_one_by_one(txn, &staged), saved = errno;

	for (size_t i = 0; i < staged.count; i++)
		fd_close(&staged.fds[i]);
	if (staged.is_over)
		return sync_places(txn);
	for (size_t i = 0; i < txn->place_count && result == 0; i++)
		result = *txn->places[i].path ? sys_fsync(txn->places[i].fd) : 0;
	if (result < 0 && saved)
		errno = saved;
	return result;
}

int txn_sync_journal(struct txn *txn)
{
	if (sys_fsync(txn->journal.fd) < 0 || sys_fsync(txn->dir_fd) < 0)
		return -1;
	return sys_fsync(txn->base_fd);
}

static int sync_parent(struct txn *txn, struct txn_parent *parent)
{
	if (parent->fd < 0)
		return sys_syncfs(txn->root_fd);
	/* Opened by path only, since it may not be read: then all of the filesystem. */
	if (sys_fsync(parent->fd) == 0)
		return 0;
	return errno == EBADF ? sync_places(txn) : -1;
}

int txn_sync_parents(struct txn *txn)
{
	size_t touched = 0;

	for (size_t i = 0; i < txn->parent_count; i++)
		touched += txn->parents[i].is_touched;
	if (touched > PARENTS_MAX && sync_places(txn) < 0)
		return -1;
	/* First the slots: a directory that came out of one is in its place for good before what was put into it is. */
	for (size_t i = 0; i < txn->place_count && touched > 0 && touched <= PARENTS_MAX; i++) {
		if (*txn->places[i].path && sys_fsync(txn->places[i].fd) < 0)
			return -1;
	}
	for (size_t i = 0; i < txn->parent_count; i++) {
		struct txn_parent *parent = &txn->parents[i];

		if (parent->is_touched && touched <= PARENTS_MAX && sync_parent(txn, parent) < 0)
			return -1;
		parent->is_touched = false;
	}
	return 0;
}
