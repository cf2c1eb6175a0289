/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes that a promotion brought to the host in another form: merged with what the host had, or under the caller's
 * umask. As long as the sandbox's version is the one that was promoted, there is nothing left to do about it.
 */
#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/base/origin_index.h"
#include "workspace/base/promotion.h"

#include <string.h>

static bool is_same_object(const struct txn_identity *promoted, const struct stat *st)
{
	return promoted->exists && promoted->mode == st->st_mode && promoted->uid == st->st_uid &&
	       promoted->gid == st->st_gid &&
	       (!S_ISREG(st->st_mode) || promoted->size == (uint64_t)st->st_size);
}

static bool is_same_content(const struct view_stack *stack, const struct origin *promoted,
			    const struct delta_side *side)
{
	owned(xattr_list_done) struct xattr_list list = { 0 };
	owned(fd_close) int fd = -1;
	char hex[SHA256_HEX_SIZE];
	struct error unseen;

	if (delta_xattrs(stack, side, &list, &unseen) < 0)
		return false;
	origin_digest_xattrs(&list, hex);
	if (strcmp(hex, promoted->xattrs) != 0)
		return false;
	if (!S_ISREG(side->st.st_mode))
		return !S_ISLNK(side->st.st_mode);
	fd = delta_open_side(stack, side);
	return fd >= 0 && digest_matches(fd, promoted->sha256) == 1;
}

static bool is_settled(const struct view_stack *stack, const struct origin_records *promoted,
		       const struct delta_entry *entry)
{
	const struct origin_record *record =
		origin_records_find(promoted, origin_base_path(stack, entry), true);

	/* Promoted as a file of its own, where it could not be another's name. */
	if (record && !(entry->aspects & ~(unsigned)(ASPECT_LINK | ASPECT_MTIME)))
		return true;
	return record && record->origin.quality == ORIGIN_CAPTURED && !entry->from &&
	       entry->new.exists &&
	       entry->old.exists &&is_same_object(&record->origin.identity, &entry->new.st) &&
	       is_same_content(stack, &record->origin, &entry->new);
}

void origin_drop_settled(const struct sandbox *sandbox, const struct view_stack *stack,
			 struct delta *delta)
{
	owned(origin_records_done) struct origin_records promoted = { 0 };
	struct error unseen;
	size_t kept = 0, count = 0;

	/* Without the records everything is shown: safe, only less convenient. */
	if (origin_records_read(sandbox->dir_fd, "promoted", &promoted, &unseen) < 0)
		return;
	for (size_t i = 0; i < promoted.count; i++) {
		bool is_undone;

		if (promotion_is_undone(sandbox->store, promoted.items[i].promotion, &is_undone,
					&unseen) < 0 ||
		    is_undone)
			origin_record_done(&promoted.items[i]);
		else
			promoted.items[count++] = promoted.items[i];
	}
	promoted.count = count;
	origin_records_sort(&promoted);
	for (size_t i = 0; i < delta->count; i++)
		if (!is_settled(stack, &promoted, &delta->items[i]))
			delta->items[kept++] = delta->items[i];
	delta->count = kept;
	delta_count(delta);
}
