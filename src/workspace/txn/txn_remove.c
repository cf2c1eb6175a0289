/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what an earlier process left of a transaction, and removing all of it. */
#include "base/core/own.h"
#include "workspace/store/store.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_lock.h"
#include "workspace/txn/txn_parts.h"
#include "workspace/txn/txn_trust.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the places; one that is missing stays closed, and what is done there fails. */
static void open_places(struct txn *txn)
{
	for (size_t i = 0; i < txn->place_count; i++) {
		struct txn_place *place = &txn->places[i];

		if (*place->path)
			place->fd =
				open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (place->fd >= 0 && !txn_is_private(place->fd))
			fd_close(&place->fd);
	}
}

/* Whether BASE is a directory of ours that goes when nothing is in it; the store's stays. */
static bool is_passing(const char *base)
{
	return str_ends(base, "/.aisbx") || str_ends(base, "/.aisbx-txn");
}

static int open_directory(struct txn *txn, const char *directory, struct error *err)
{
	const char *slash = strrchr(directory, '/');

	if (directory[0] != '/' || slash == directory)
		return error_set(err, ERROR_USAGE, "'%s' is no transaction", directory);
	owned(free_ptr) char *base = xstrndup(directory, (size_t)(slash - directory));

	txn->directory = xstrdup(directory);
	txn->base_fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (txn->base_fd >= 0)
		txn->dir_fd = openat(txn->base_fd, slash + 1,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Killed on the last step of removing it, it left the directory above. */
	if (txn->dir_fd < 0 && errno == ENOENT && is_passing(base)) {
		(void)unlinkat(AT_FDCWD, base, AT_REMOVEDIR);
		errno = ENOENT;
	}
	if (txn->dir_fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST,
				   "transaction '%s'", directory);
	if (!txn_is_private(txn->base_fd) || !txn_is_private(txn->dir_fd))
		return error_set(err, ERROR_DENIED,
				 "transaction '%s' belongs to another user, or others may write "
				 "to it: it is left alone",
				 directory);
	return 0;
}

static int read_journal(struct txn *txn, struct error *err)
{
	struct str bytes = STR_INIT;
	char boot_id[37];
	int result = 0;

	/* Killed before the journal was made, it has nothing but the directory. */
	if (journal_open(txn->dir_fd, &txn->journal, &bytes) == 0)
		result = txn_log_parse(txn, bytes.data, bytes.len, err);
	else if (errno == EPERM)
		result = error_set(err, ERROR_DENIED,
				   "the journal belongs to another user, or others may write to "
				   "it: it is left alone");
	else if (errno != ENOENT)
		result = error_errno(err, ERROR_HOST, "the journal of '%s'", txn->directory);
	str_done(&bytes);
	if (result < 0 || txn_check_names(txn, err) < 0 || store_boot_id(boot_id, err) < 0)
		return error_context(err, "%s", txn->directory);
	txn->is_same_boot = strcmp(boot_id, txn->boot_id) == 0;
	open_places(txn);
	return 0;
}

int txn_place_read(struct txn *txn, const char *directory, struct error *err)
{
	return open_directory(txn, directory, err) < 0 ? -1 : read_journal(txn, err);
}

int txn_place_open(struct txn *txn, const char *directory, struct error *err)
{
	if (open_directory(txn, directory, err) < 0)
		return -1;
	if (!txn_lock_own(txn->dir_fd))
		return error_set(err, ERROR_CONFLICT, "transaction '%s' is being worked on",
				 directory);
	return read_journal(txn, err);
}

/* A slot in the tree itself that the journal names. 0 also when its directory is gone. */
static int remove_reported(struct txn *txn, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	owned(free_ptr) char *above = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	owned(free_ptr) char *backup = xasprintf("%s.old", name);
	owned(fd_close) int fd = sys_open_beneath(txn->root_fd, above, O_PATH | O_DIRECTORY);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -1;
	return sys_remove_tree(fd, name) < 0 || sys_remove_tree(fd, backup) < 0 ? -1 : 0;
}

static int remove_beside(struct txn *txn)
{
	for (size_t i = 0; i < txn->beside.count; i++) {
		if (remove_reported(txn, txn->beside.items[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < txn->count && txn->parents; i++) {
		const struct txn_item *item = &txn->items[i];
		char name[TXN_NAME_SIZE];
		int fd;

		if (item->kind == TXN_META || item->kind == TXN_MOVE ||
		    *txn->places[item->place].path || txn_slot(txn, i, false, &fd, name) < 0)
			continue;
		if (sys_remove_tree(fd, name) < 0)
			return -1;
	}
	return 0;
}

/* A slot directory of another mount, and the one above when nothing else is in it. */
static void remove_other(struct txn_place *place)
{
	char *slash = strrchr(place->path, '/');

	fd_close(&place->fd);
	(void)sys_remove_tree(AT_FDCWD, place->path);
	*slash = '\0';
	if (is_passing(place->path))
		(void)sys_unlinkat(AT_FDCWD, place->path, AT_REMOVEDIR);
	*slash = '/';
}

/* What the journal alone knows of goes before it. */
static int remove_elsewhere(struct txn *txn)
{
	bool is_simple = txn->beside.count == 0;

	for (size_t i = 0; i < txn->place_count; i++)
		is_simple &= str_starts(txn->places[i].path, txn->directory);
	if (is_simple || txn->journal.fd < 0)
		return 0;
	/* Killed in the middle, it must not pass for one that can be undone. */
	journal_add(&txn->journal, JOURNAL_GONE, NULL);
	(void)journal_write(&txn->journal, false);
	if (txn->root_fd >= 0 && remove_beside(txn) < 0)
		return -1;
	for (size_t i = 0; i < txn->place_count; i++) {
		if (*txn->places[i].path && !str_starts(txn->places[i].path, txn->directory))
			remove_other(&txn->places[i]);
	}
	return 0;
}

int txn_place_remove(struct txn *txn, struct error *err)
{
	if (remove_elsewhere(txn) < 0)
		return error_errno(err, ERROR_HOST, "cannot remove the slots of '%s'",
				   txn->directory);
	return txn_place_remove_orphan(txn, err);
}

int txn_place_remove_orphan(struct txn *txn, struct error *err)
{
	const char *name = strrchr(txn->directory, '/') + 1;

	if (sys_unlinkat(txn->dir_fd, JOURNAL_NAME, 0) < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "cannot remove '%s'", txn->directory);
	journal_close(&txn->journal);
	if (sys_remove_tree(txn->dir_fd, "slot") < 0 || sys_remove_tree(txn->base_fd, name) < 0)
		return error_errno(err, ERROR_HOST, "cannot remove '%s'", txn->directory);
	owned(free_ptr) char *base = xstrndup(txn->directory, (size_t)(name - 1 - txn->directory));

	/* Ours alone, unless it is the store's. */
	if (is_passing(base))
		(void)sys_unlinkat(AT_FDCWD, base, AT_REMOVEDIR);
	return 0;
}
