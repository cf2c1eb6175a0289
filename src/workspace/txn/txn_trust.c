/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a transaction found on the disk is one of ours. */
#include "workspace/txn/txn_trust.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/txn/txn_parts.h"

#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool txn_is_private(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return false;
	return S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink == 1);
}

/* Slots lie in the transaction's own directory, in one at the top of another mount, or beside their targets. */
static bool is_place(const struct txn *txn, const char *path)
{
	owned(free_ptr) char *own = xasprintf("%s/slot", txn->directory);
	owned(free_ptr) char *roots = xasprintf("/.aisbx/%s", txn->id);
	owned(free_ptr) char *users = xasprintf("/.aisbx-txn/%s", txn->id);

	return !*path || strcmp(path, own) == 0 ||
	       (path_is_clean(path) && (str_ends(path, roots) || str_ends(path, users)));
}

static bool is_slot_beside(const struct txn *txn, const char *path)
{
	owned(free_ptr) char *start = xasprintf(".aisbx-%.40s-", txn->id);
	const char *slash = strrchr(path, '/');

	return str_starts(slash ? slash + 1 : path, start);
}

int txn_check_names(const struct txn *txn, struct error *err)
{
	bool is_good =
		!txn->root || strcmp(strrchr(txn->directory, '/') + 1, txn->id ? txn->id : "") == 0;

	for (size_t i = 0; txn->root && is_good && i < txn->place_count; i++)
		is_good = is_place(txn, txn->places[i].path);
	for (size_t i = 0; txn->root && is_good && i < txn->beside.count; i++)
		is_good = is_slot_beside(txn, txn->beside.items[i]);
	if (is_good)
		return 0;
	return error_set(err, ERROR_DENIED,
			 "the journal in '%s' names places that are not its own: it was not "
			 "written by a promotion, and is left alone",
			 txn->directory);
}

/*
 * The target that the journal names. A transaction that exchanges a directory as a whole works on its parent; killed
 * before it recorded which entry, it has changed nothing.
 */
static char *target_of(const struct txn *txn, const char *target)
{
	const char *top = strcmp(txn->root, "/") == 0 ? "" : txn->root;

	if (!txn->is_swap)
		return xstrdup(txn->root);
	return xasprintf("%s/%s", top,
			 txn->count > 0 ? txn->items[0].path : strrchr(target, '/') + 1);
}

int txn_match(const char *directory, const char *target, bool was_done, struct error *err)
{
	owned(txn_done) struct txn txn;
	char real[PATH_MAX];

	txn_init(&txn);
	if (txn_place_read(&txn, directory, err) < 0)
		return -1;
	enum txn_state state = txn_state_from(txn.last);
	owned(free_ptr) char *said = txn.root ? target_of(&txn, target) : NULL;

	/* The journal has the path that the target had behind all links. */
	if (said && strcmp(said, target) != 0 && path_real_into(target, real) &&
	    strcmp(said, real) != 0)
		return error_set(err, ERROR_DENIED,
				 "the journal in '%s' is about '%.300s', the promotion was to "
				 "'%.300s': it is left alone",
				 directory, said, target);
	if (was_done && (state == TXN_NONE || state == TXN_PREPARED))
		return error_set(err, ERROR_DENIED,
				 "the journal in '%s' was cut short after the promotion was done: "
				 "it is left alone, and what was replaced lies beside it",
				 directory);
	return 0;
}
