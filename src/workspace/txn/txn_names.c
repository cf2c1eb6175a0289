/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of a transaction that was taken back hold what it had brought. Where that was another name of a file of the host's,
 * the slot keeps nothing but a name, which the file's owner would wonder about: it is given up. A tree that was exchanged
 * whole is left alone: all of it is such names.
 */
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct name {
	uint64_t ino;
	uint32_t links;
};

struct names {
	struct name *items;
	size_t count, room;
};

static int compare_names(const void *a, const void *b)
{
	const struct name *one = a, *other = b;

	return one->ino < other->ino ? -1 : one->ino > other->ino;
}

static int note(const struct walk_entry *entry, void *cookie)
{
	struct names *names = cookie;

	if (!S_ISREG(entry->st->stx_mode) || entry->st->stx_nlink < 2)
		return 0;
	if (names->count == names->room) {
		names->room = names->room ? names->room * 2 : 16;
		names->items = xrealloc(names->items, names->room, sizeof(names->items[0]));
	}
	names->items[names->count++] = (struct name){ entry->st->stx_ino, entry->st->stx_nlink };
	return 0;
}

/* Keeps those that have more names than there are slots: the others' content is nowhere else. */
static void keep_shared(struct names *names)
{
	size_t kept = 0;

	if (names->count > 1)
		qsort(names->items, names->count, sizeof(names->items[0]), compare_names);
	for (size_t start = 0, end; start < names->count; start = end) {
		for (end = start;
		     end < names->count && names->items[end].ino == names->items[start].ino;)
			end++;
		if (names->items[start].links > end - start)
			names->items[kept++] = names->items[start];
	}
	names->count = kept;
}

static int give_up(const struct walk_entry *entry, void *cookie)
{
	const struct names *names = cookie;
	struct name asked = { .ino = entry->st->stx_ino };

	if (!S_ISREG(entry->st->stx_mode) || entry->st->stx_nlink < 2 ||
	    !bsearch(&asked, names->items, names->count, sizeof(asked), compare_names))
		return 0;
	return sys_unlinkat(entry->dir_fd, entry->name, 0);
}

/* The object in a slot, and all below it. */
static int walk_slot(int fd, const char *name, walk_visit *each, void *cookie)
{
	struct statx st;
	struct walk_entry entry = { .dir_fd = fd, .name = name, .path = name, .st = &st };

	if (statx(fd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) < 0)
		return errno == ENOENT ? 0 : -1;
	struct walk walk = { .purpose = WALK_TXN, .visit = each, .cookie = cookie };

	return S_ISDIR(st.stx_mode) ? walk_tree(&walk, fd, name) : each(&entry, cookie);
}

static int walk_slots(struct txn *txn, walk_visit *each, struct names *names)
{
	char name[TXN_NAME_SIZE];
	int fd;

	for (size_t i = 0; i < txn->count; i++) {
		if (txn->items[i].kind != TXN_ADD && txn->items[i].kind != TXN_REPLACE)
			continue;
		if (txn_slot(txn, i, false, &fd, name) < 0 || walk_slot(fd, name, each, names) < 0)
			return -1;
	}
	return 0;
}

void txn_give_up_names(const char *directory)
{
	owned(txn_done) struct txn txn;
	struct names names = { 0 };
	struct error ignored = { 0 };

	txn_init(&txn);
	if (txn_open_locked(&txn, directory, &ignored) == 0 && txn.last == JOURNAL_UNDONE &&
	    !txn.is_swap && walk_slots(&txn, note, &names) == 0) {
		keep_shared(&names);
		if (names.count > 0)
			(void)walk_slots(&txn, give_up, &names);
	}
	free(names.items);
}
