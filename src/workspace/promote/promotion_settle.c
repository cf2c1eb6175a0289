/* SPDX-License-Identifier: Apache-2.0 */
/* What the host was made by a promotion or made again by an undo, written down as the base of what comes next. */
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"

#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"
#include "workspace/txn/txn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Opens sbx/NAME when it still is the sandbox of ID; -1 otherwise. */
static int open_sandbox(const struct store *store, const struct promotion_entry *entry)
{
	struct sandbox sandbox = { .dir_fd = -1, .lock_fd = -1, .freeze_fd = -1 };
	struct error ignored = { 0 };
	int fd = -1;

	if (sandbox_open(store, entry->sandbox, SANDBOX_UNLOCKED, &sandbox, &ignored) < 0)
		return -1;
	if (strcmp(sandbox.id, entry->sandbox_id) == 0 &&
	    strcmp(sandbox.workspace, entry->target) == 0)
		fd = fcntl(sandbox.dir_fd, F_DUPFD_CLOEXEC, 0);
	sandbox_close(&sandbox);
	return fd;
}

/* What the target has now. A failed look is an error: noted as absence, it would be the base of what comes next. */
static int look(int target_fd, const char *target, struct origin_record *record, struct error *err)
{
	const char *relative = target_relative(target, record->path);
	struct origin *origin = &record->origin;
	struct txn_identity now;
	char *link;

	if (!relative)
		return 0;
	if (target_see(target_fd, relative, &now, err) < 0)
		return -1;
	if (target_type(&now) == 'l') {
		link = target_read_link(target_fd, relative);
		if (!link)
			return error_errno(err, ERROR_HOST, "cannot read a link");
		free(origin->link);
		origin->link = link;
	}
	origin->identity = now;
	return 0;
}

/* The same with the content, where it is small. */
static int look_and_keep(const struct store *store, int target_fd, const char *target,
			 struct origin_record *record, struct error *err)
{
	const char *relative = target_relative(target, record->path);
	struct origin *origin = &record->origin;
	owned(fd_close) int fd = -1;

	if (look(target_fd, target, record, err) < 0)
		return -1;
	if (!relative || target_type(&origin->identity) != 'f' ||
	    origin->identity.size > ORIGIN_KEPT_MAX)
		return 0;
	fd = target_open_file(target_fd, relative, &origin->identity);
	return fd < 0 ? 0 : origin_keep(store, fd, &origin->identity, origin->sha256, err);
}

int promotion_settle(const struct store *store, const struct promotion_entry *entry,
		     struct error *err)
{
	owned(origin_records_done) struct origin_records paths = { 0 };
	owned(fd_close) int dir_fd = -1, sandbox_fd = open_sandbox(store, entry), target_fd = -1;
	owned(str_done) struct str lines = STR_INIT;

	if (promotion_turn_redirects(store, entry->id, false, err) < 0)
		return -1;
	if (sandbox_fd < 0)
		return 0;
	if (promotion_open_directory(store, entry->id, &dir_fd, err) < 0 ||
	    origin_records_read(dir_fd, "paths", &paths, err) < 0 ||
	    target_open(entry->target, &target_fd, err) < 0)
		return -1;
	for (size_t i = 0; i < paths.count; i++) {
		/* Contents are kept by the next capture, of what was changed again by then. */
		if (paths.items[i].origin.quality == ORIGIN_EXACT &&
		    look(target_fd, entry->target, &paths.items[i], err) < 0)
			return -1;
		origin_records_put(&lines, &paths.items[i]);
	}
	return origin_records_append(sandbox_fd, "promoted", &lines, err);
}

int promotion_settle_objects(const struct store *store, const struct promotion_entry *entry,
			     struct error *err)
{
	if (promotion_settle(store, entry, err) < 0 || txn_forget(entry->directory, err) < 0)
		return -1;
	promotion_drop(store, entry->id);
	return 0;
}

int promotion_note_restored(const struct store *store, const struct promotion_entry *entry,
			    struct error *err)
{
	owned(origin_records_done) struct origin_records paths = { 0 };
	owned(fd_close) int dir_fd = -1, target_fd = -1;
	owned(str_done) struct str lines = STR_INIT;
	struct error ignored = { 0 };

	/* A name that goes changes its file: before anything is written down about it. */
	txn_give_up_names(entry->directory);
	if (promotion_turn_redirects(store, entry->id, true, err) < 0)
		return -1;
	if (promotion_open_directory(store, entry->id, &dir_fd, &ignored) < 0 ||
	    origin_records_read(dir_fd, "paths", &paths, &ignored) < 0 ||
	    target_open(entry->target, &target_fd, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < paths.count; i++) {
		const char *relative = target_relative(entry->target, paths.items[i].path);
		struct txn_identity now = { 0 };

		if (!relative || target_look(target_fd, relative, &now) < 0)
			continue;
		if (paths.items[i].origin.quality != ORIGIN_EXACT ||
		    !target_is_same_object(&paths.items[i].origin.identity, &now))
			continue;
		if (look_and_keep(store, target_fd, entry->target, &paths.items[i], &ignored) == 0)
			origin_records_put(&lines, &paths.items[i]);
	}
	/* Without them large files count as changed on the host: safe, only less convenient. */
	if (lines.len > 0)
		(void)origin_records_append(dir_fd, "restored", &lines, &ignored);
	return 0;
}
