/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions outside the store that the store knows nothing of: it was lost, or another one made them.
 *
 * Nothing is replayed for them. One that ended without effect holds nothing that is missing elsewhere and goes at once.
 * Every other one, and a directory that only holds slots of a journal elsewhere, may be the last copy of a file: it goes
 * after ORPHAN_DAYS if the store that it names is there, on the file system it was on, and has no record of it. A store
 * that is not mounted, or was moved away from its path, may still need it: then it is reported, and left to a person.
 *
 * The name is the text of a symbolic link, "FSID-ID:PATH": made in one step, it is whole or missing. So is the store's
 * random ID, without which another store at that path, be it in another mount namespace, would pass for it.
 */
#include "workspace/txn/txn_orphan.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/store/layer_record.h"
#include "workspace/txn/txn_lock.h"
#include "workspace/txn/txn_parts.h"
#include "workspace/txn/txn_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define ORPHAN_DAYS 30
#define STORE_LINK "store"
#define STORE_ID "id"	  /* in the store */
#define STORE_ID_BYTES 16 /* in hexadecimal digits */

/* Unless it has one. */
static void give_id(int store_fd)
{
	unsigned char bytes[STORE_ID_BYTES];
	char text[2 * STORE_ID_BYTES + 1];

	if (faccessat(store_fd, STORE_ID, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	(void)!symlinkat(text, store_fd, STORE_ID);
}

/* The store at PATH as links name it; NULL when its file system or its id cannot be determined. */
static char *store_name(int fd, const char *path)
{
	char id[2 * STORE_ID_BYTES + 1] = "";
	struct statfs fs;
	uint32_t words[2];

	if (fstatfs(fd, &fs) < 0 || readlinkat(fd, STORE_ID, id, sizeof(id)) != sizeof(id) - 1)
		return NULL;
	id[sizeof(id) - 1] = '\0';
	memcpy(words, &fs.f_fsid, sizeof(words));
	return xasprintf("%08x%08x-%s:%s", words[0], words[1], id, path);
}

void txn_note_store(int dir_fd, const char *staging)
{
	const char *slash = staging ? strrchr(staging, '/') : NULL;
	owned(free_ptr) char *path = slash ? xstrndup(staging, (size_t)(slash - staging)) : NULL;
	owned(fd_close) int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		give_id(fd);
	owned(free_ptr) char *name = fd >= 0 ? store_name(fd, path) : NULL;

	/* Without it, the directory is reported by gc and never removed. */
	if (name)
		(void)!symlinkat(name, dir_fd, STORE_LINK);
}

/* Whether what FD is of was last changed more than ORPHAN_DAYS ago. */
static bool is_old(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_mtime < time(NULL) - (time_t)ORPHAN_DAYS * 24 * 60 * 60;
}

/* Whether the store that NAME names is there and has no record of promotion ID. When in doubt, false. */
static bool is_disowned(const char *name, const char *id)
{
	const char *colon = strchr(name, ':'), *path = colon ? colon + 1 : "";
	owned(fd_close) int fd =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	owned(free_ptr) char *now = fd >= 0 ? store_name(fd, path) : NULL;

	if (path[0] != '/' || !now || strcmp(now, name) != 0 || !txn_is_private(fd) ||
	    faccessat(fd, "VERSION", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	owned(fd_close) int list_fd =
		openat(fd, "promotions", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return list_fd >= 0 && txn_is_private(list_fd) &&
	       faccessat(list_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* The store that the directory names; "" for none. */
static char *named_store(int dir_fd)
{
	char text[PATH_MAX + 64];
	ssize_t len = readlinkat(dir_fd, STORE_LINK, text, sizeof(text));

	return len > 0 && (size_t)len < sizeof(text) ? xstrndup(text, (size_t)len) : xstrdup("");
}

/* Whether nothing can need the transaction any more: judged, and removed, under its lock. */
static bool is_settled(const struct txn *txn, const char *store, const char *id)
{
	bool has_journal = txn->journal.fd >= 0;

	/* Only the journal names slots that lie beside their targets; a damaged one may have named some. */
	if (txn->beside.count > 0 || (has_journal && !txn->root))
		return false;
	if (has_journal && (txn->last == JOURNAL_ROLLEDBACK || txn->last == JOURNAL_UNDONE))
		return true;
	return is_old(has_journal ? txn->journal.fd : txn->dir_fd) && is_disowned(store, id);
}

/* True when it was removed; otherwise *ret_store names the store that may need it, or is "". */
static bool remove_settled(const char *directory, char **ret_store)
{
	const char *id = strrchr(directory, '/') + 1;
	owned(txn_done) struct txn txn;
	struct error ignored = { 0 };

	txn_init(&txn);
	/* One that is being worked on, is not the caller's alone, or whose journal is damaged, stays. */
	bool is_read = txn_place_open(&txn, directory, &ignored) == 0;

	*ret_store = txn.dir_fd >= 0 ? named_store(txn.dir_fd) : xstrdup("");
	return is_read && is_settled(&txn, *ret_store, id) &&
	       txn_place_remove_orphan(&txn, &ignored) == 0;
}

static void judge(const char *directory, struct txn_orphans *orphans)
{
	owned(free_ptr) char *store = NULL;

	if (remove_settled(directory, &store)) {
		strv_add(&orphans->removed, directory);
		return;
	}
	const char *colon = strchr(store, ':');

	strv_add(&orphans->left, directory);
	strv_add(&orphans->stores, colon ? colon + 1 : "");
}

void txn_sweep_orphans(const char *base, bool (*is_claimed)(const char *id, void *cookie),
		       void *cookie, struct txn_orphans *orphans)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, base);
	struct dirent *entry;

	/* If other users can write to the directory, its journals are not trusted. */
	if (!dir || !txn_is_private(dirfd(dir)))
		return;
	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *directory = xasprintf("%s/%s", base, entry->d_name);

		if (layer_id_is_valid(entry->d_name) && !is_claimed(entry->d_name, cookie))
			judge(directory, orphans);
	}
}
