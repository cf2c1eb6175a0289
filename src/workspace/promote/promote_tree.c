/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that go: what the host has in them, and the sandbox never saw, must not go with them unsaid.
 *
 * New entries, changed ones, and those that were hidden from the sandbox are named in one conflict of the directory.
 */
#include "workspace/promote/promote_own.h"
#include "workspace/promote/promote_parts.h"

#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NAMES_MAX 1000

static bool goes(const struct item *item)
{
	/* A renamed directory takes everything along. */
	if (item->twin != NO_ITEM)
		return false;
	return item->is_selected && item->fate != FATE_LEFT && target_type(&item->now) == 'd' &&
	       !(item->entry.new.exists &&S_ISDIR(item->entry.new.st.st_mode));
}

/* Whether the sandbox knew PATH and everything agrees that it goes. */
static bool is_agreed(const struct promote *promote, const char *path)
{
	size_t at = promote_find(promote, path);
	const struct item *item = at == NO_ITEM ? NULL : &promote->items[at];

	return item && item->is_selected && item->fate == FATE_APPLIED && !item->entry.new.exists;
}

/* What is not agreed to go, in the directory that would. */
struct unseen {
	const struct promote *promote;
	const char *directory;
	struct strv *names;
};

static int list_entry(const struct walk_entry *entry, void *cookie)
{
	const struct unseen *unseen = cookie;
	owned(free_ptr) char *path = xasprintf("%s/%s", unseen->directory, entry->path);

	if (!is_agreed(unseen->promote, path) && unseen->names->count < NAMES_MAX)
		strv_take(unseen->names, ptr_take(&path));
	return 0;
}

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return strncmp(path, above, len) == 0 && path[len] == '/';
}

static void conflict_done(struct conflict *conflict)
{
	free(conflict->path);
	free(conflict->hunks);
	strv_done(&conflict->names);
}

/* The conflict of the directory stands for those below PATH. */
static void drop_conflicts_below(struct promotion *promotion, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < promotion->conflict_count; i++) {
		struct conflict *conflict = &promotion->conflicts[i];

		if (is_below(conflict->path, path) || strcmp(conflict->path, path) == 0)
			conflict_done(conflict);
		else
			promotion->conflicts[kept++] = *conflict;
	}
	promotion->conflict_count = kept;
}

static void set_fate_below(struct promote *promote, const struct item *top, enum item_fate fate)
{
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (item == top || (is_below(item->path, top->path) && !item->entry.new.exists))
			item->fate = item->is_selected ? fate : item->fate;
	}
}

/* Keeps what goes although the sandbox never saw it. */
static int keep_unseen(struct promote *promote, const struct strv *names, struct error *err)
{
	for (size_t i = 0; i < names->count && !promote->request->dry_run; i++) {
		struct txn_identity now;
		char hex[SHA256_HEX_SIZE];
		owned(fd_close) int fd = -1;

		if (target_see(promote->target_fd, names->items[i], &now, err) < 0)
			return -1;
		if (target_type(&now) == 'f')
			fd = target_open_file(promote->target_fd, names->items[i], &now);
		if (fd >= 0 && (cas_keep_fd(promote->sandbox->store, fd, hex, err) < 0 ||
				promote_keep(promote, hex, err) < 0))
			return -1;
	}
	return 0;
}

/* Whether masks hid one of the names, which are relative to the target, from the sandbox. */
static bool has_hidden(const struct promote *promote, const struct strv *names)
{
	const struct view_stack *stack = promote->stack;

	for (size_t i = 0; promote->is_workspace && stack->shows && i < names->count; i++) {
		owned(free_ptr) char *path =
			xasprintf("%s/%s", promote->sandbox->workspace, names->items[i]);

		if (!stack->shows(path, stack->cookie))
			return true;
	}
	return false;
}

static int guard_tree(struct promote *promote, struct item *item, struct error *err)
{
	struct strv names = STRV_INIT;
	struct verdict verdict = { .kind = "dir-delete", .object = TAKE_UNDECIDED };
	struct conflict_times never = { 0 };
	struct unseen unseen = { promote, item->path, &names };
	struct walk walk = { .purpose = WALK_TXN, .visit = list_entry, .cookie = &unseen };
	enum outcome outcome;
	owned(fd_close) int dir_fd = -1;
	char shown[STR_SHOWN_SIZE];
	const char *name;
	int status = 0;

	/* Summed up before it is listed: what comes later is seen by the transaction. */
	if (target_parent(promote->target_fd, item->path, &dir_fd, &name) < 0 ||
	    txn_tree_of(dir_fd, name, &item->now.tree) < 0 || walk_tree(&walk, dir_fd, name) < 0) {
		strv_done(&names);
		return error_errno(err,
				   errno == ENOENT || errno == EACCES ? ERROR_CONFLICT : ERROR_HOST,
				   "cannot look into '%s'", str_shown(item->path, shown));
	}
	if (names.count > 0) {
		outcome = conflict_outcome(promote->request->strategy, &verdict, &never);
		/* No strategy decides about files that the sandbox was not allowed to see. */
		if (outcome == OUTCOME_THEIRS && has_hidden(promote, &names))
			outcome = OUTCOME_OPEN;
		drop_conflicts_below(promote->promotion, item->path);
		struct conflict *conflict = promote_add_conflict(promote, item, verdict.kind);

		if (outcome != OUTCOME_OPEN)
			conflict->resolution = promote_strategy_name(promote->request->strategy);
		strv_copy(&conflict->names, &names);
		set_fate_below(promote, item,
			       outcome == OUTCOME_OPEN	 ? FATE_OPEN
			       : outcome == OUTCOME_OURS ? FATE_LEFT
							 : FATE_APPLIED);
		if (outcome == OUTCOME_THEIRS)
			status = keep_unseen(promote, &names, err);
	}
	strv_done(&names);
	return status;
}

int promote_guard_trees(struct promote *promote, struct error *err)
{
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		const struct item *above =
			item->parent == NO_ITEM ? NULL : &promote->items[item->parent];

		if (!goes(item) || (above && goes(above)))
			continue;
		if (guard_tree(promote, item, err) < 0) {
			struct error own = { 0 };

			/* Parts of the store are shut to their owner: that it is there is the better reason. */
			if (promote_refuse_own(promote, &own) < 0)
				*err = own;
			return -1;
		}
	}
	return 0;
}
