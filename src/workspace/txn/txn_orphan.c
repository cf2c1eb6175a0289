/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions outside the store that the store knows nothing of: it was lost, or another one made them.
 *
 * Nothing is replayed for them. One that ended without effect holds nothing that is missing elsewhere and goes at once, one
 * that never began after ORPHAN_DAYS. What can still be undone, is unfinished, or only holds slots of a journal elsewhere,
 * may be the last copy of a file, and its journal does not name the store that needs it: it is reported, and left to a
 * person.
 */
#include "workspace/txn/txn_orphan.h"

#include "base/dir.h"
#include "base/own.h"
#include "workspace/store/layer_record.h"
#include "workspace/txn/txn_parts.h"
#include "workspace/txn/txn_trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define ORPHAN_DAYS 30

/* Whether the journal was last written more than ORPHAN_DAYS ago. */
static bool is_old(const struct txn *txn)
{
	struct stat st;

	return fstat(txn->journal.fd, &st) == 0 &&
	       st.st_mtime < time(NULL) - (time_t)ORPHAN_DAYS * 24 * 60 * 60;
}

/* Whether nobody can need the transaction in DIRECTORY any more. */
static bool is_settled(const char *directory)
{
	owned(txn_done) struct txn txn;
	struct error ignored = { 0 };

	txn_init(&txn);
	if (txn_place_read(&txn, directory, &ignored) < 0 || txn.journal.fd < 0)
		return false;
	switch (txn_state_from(txn.last)) {
	case TXN_ABORTED:
	case TXN_UNDONE:
		return true;
	case TXN_NONE:
	case TXN_PREPARED:
		return is_old(&txn);
	case TXN_DONE:
	case TXN_COMMITTED:
	case TXN_UNDOING:
	case TXN_STUCK:
		break;
	}
	return false;
}

void txn_sweep_orphans(const char *base, bool (*is_claimed)(const char *id, void *cookie),
		       void *cookie, struct txn_orphans *orphans)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, base);
	struct error ignored = { 0 };
	struct dirent *entry;

	/* If other users can write to the directory, its journals are not trusted. */
	if (!dir || !txn_is_private(dirfd(dir)))
		return;
	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *directory = xasprintf("%s/%s", base, entry->d_name);

		if (!layer_id_is_valid(entry->d_name) || is_claimed(entry->d_name, cookie))
			continue;
		if (is_settled(directory) && txn_forget(directory, &ignored) == 0)
			strv_add(&orphans->removed, directory);
		else
			strv_add(&orphans->left, directory);
	}
}
