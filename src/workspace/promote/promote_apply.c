/* SPDX-License-Identifier: Apache-2.0 */
/* The transaction of a promotion, with the record that finds it again. */
#include "workspace/promote/promotions.h"
#include "workspace/promote/promote_commits.h"
#include "workspace/promote/promote_link.h"

#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/base/origin_index.h"
#include "workspace/promote/promotion_applied.h"
#include "workspace/disk/target.h"
#include "workspace/promote/staging_places.h"

#include <fcntl.h>
#include <string.h>

/* Looking at each costs; beyond that they find out by themselves. */
#define SIBLINGS_MAX 200

/* Whether the host becomes exactly what the sandbox has; else the sandbox's version is the base of what comes next. */
static bool is_whole(const struct item *item)
{
	mode_t theirs = item->entry.new.st.st_mode & 07777;

	return item->verdict.object == TAKE_THEIRS &&
	       (item->type == 0 || item->type == 'l' || item->meta.mode == theirs);
}

static void put_path(const struct promote *promote, const struct item *item, struct str *text)
{
	struct origin_record record = { .origin.quality = ORIGIN_EXACT };

	record.path = xasprintf("%s/%s", strcmp(promote->target, "/") == 0 ? "" : promote->target,
				item->path);
	memcpy(record.promotion, promote->entry.id, sizeof(record.promotion));
	origin_digest_xattrs(&item->xattrs, record.origin.xattrs);
	if (item->type == 'f')
		memcpy(record.origin.sha256, item->new_sha256, SHA256_HEX_SIZE);
	/* What was there before, and had not moved, is the base again should this be undone. */
	if (is_whole(item) && !item->verdict.kind && item->origin.quality == ORIGIN_EXACT)
		record.origin.identity = item->now;
	if (!is_whole(item)) {
		record.origin.quality = ORIGIN_CAPTURED;
		record.origin.identity.exists = true;
		record.origin.identity.mode = item->entry.new.st.st_mode;
		record.origin.identity.uid = item->entry.new.st.st_uid;
		record.origin.identity.gid = item->entry.new.st.st_gid;
		record.origin.identity.size = (uint64_t)item->entry.new.st.st_size;
	}
	origin_records_put(text, &record);
	origin_record_done(&record);
}

/* A merged file's base from now on is what the sandbox had: it must outlive the sandbox's next edit. */
static int keep_theirs(const struct promote *promote, struct item *item, struct error *err)
{
	owned(fd_close) int fd = -1;

	/* Of what is that large only the digest is kept. */
	if (is_whole(item) || item->type != 'f' || item->entry.new.st.st_size > DIGEST_WHOLE_MAX)
		return 0;
	fd = promote_open_theirs(promote, item, err);
	return fd < 0 ? -1 : cas_keep_fd(promote->sandbox->store, fd, item->new_sha256, err);
}

static int list_paths(struct promote *promote, struct str *text, struct error *err)
{
	origin_records_begin(text);
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (item->fate != FATE_APPLIED)
			continue;
		if (keep_theirs(promote, item, err) < 0)
			return -1;
		put_path(promote, item, text);
		promote->entry.files += item->type != 'd';
	}
	return 0;
}

static int begin(struct promote *promote, struct error *err)
{
	const struct promote_request *request = promote->request;
	struct promotion_entry *entry = &promote->entry;
	owned(str_done) struct str paths = STR_INIT;

	if (id_run(entry->id, err) < 0)
		return -1;
	entry->sandbox = xstrdup(promote->sandbox->name);
	entry->sandbox_id = xstrdup(promote->sandbox->id);
	entry->target = xstrdup(promote->target);
	entry->owner = request->owner ? xstrdup(request->owner) : NULL;
	entry->workspace = request->workspace ? xstrdup(request->workspace) : NULL;
	entry->state = xstrdup("pending");
	memcpy(entry->digest, promote->promotion->digest, sizeof(entry->digest));
	entry->made_ms = clock_epoch_ms();
	if (list_paths(promote, &paths, err) < 0 ||
	    promotion_begin(promote->sandbox->store, entry, &paths, &promote->lock_fd, err) < 0)
		return -1;
	return promote_note_moved(promote, err);
}

/* The transaction has its place: from here on a crash can be followed up. */
static int note_directory(const char *directory, void *cookie, struct error *err)
{
	struct promote *promote = cookie;
	owned(free_ptr) char *place =
		xstrndup(directory, (size_t)(strrchr(directory, '/') - directory));

	owned(free_ptr) char *above = promotion_place_above(directory);
	struct txn_identity there;

	promote_forget_staged(promote);
	if (txn_identity_of(AT_FDCWD, above, &there) < 0 || !there.exists)
		return error_errno(err, ERROR_HOST, "cannot look at '%s'", above);
	free(promote->entry.directory);
	promote->entry.directory = xstrdup(directory);
	promote->entry.place_ino = there.ino;
	promote->entry.place_btime_ns = there.btime_ns;
	if (staging_places_add(promote->sandbox->store, place, err) < 0)
		return -1;
	return promotion_save(promote->sandbox->store, &promote->entry, true, err);
}

/* What lies in a directory of staging is finished or removed only if this store has begun it there. */
static int is_known(const char *directory, void *cookie, struct error *err)
{
	const struct promote *promote = cookie;
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	struct error why = { 0 };

	if (promotion_read(promote->sandbox->store, strrchr(directory, '/') + 1, &entry, &why) == 0)
		return entry.directory && strcmp(entry.directory, directory) == 0;
	if (why.code != ERROR_HOST)
		return 0;
	*err = why;
	return -1;
}

static void take_conflicts(struct promote *promote, const struct txn_result *result)
{
	for (size_t i = 0; i < result->conflict_count; i++) {
		const struct txn_conflict *found = &result->conflicts[i];
		struct item nothing = { .path = found->path, .place = found->path };
		struct item *item =
			found->op < promote->op_count ? promote->ops[found->op].cookie : &nothing;

		promote_add_conflict(promote, item, found->kind);
	}
}

static uint64_t staged_bytes(const struct promote *promote)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		if (item->fate == FATE_APPLIED && item->type == 'f')
			sum += (uint64_t)item->entry.new.st.st_blocks * 512;
	}
	return sum;
}

static int run(struct promote *promote, bool *ret_is_left, struct error *err)
{
	owned(free_ptr) char *staging = xasprintf("%s/staging", promote->sandbox->store->path);
	struct txn_result result = { 0 };
	struct txn_plan plan = {
		.target = { .root = promote->target,
			    .store_staging = staging,
			    .swap = promote->request->swap },
		.id = promote->entry.id,
		.owner = promote->request->owner,
		.digest = promote->promotion->digest,
		.ops = promote->ops,
		.count = promote->op_count,
		.bytes = staged_bytes(promote),
		.begun = note_directory,
		.stage = promote_stage,
		.is_known = is_known,
		.cookie = promote,
	};
	int status = txn_run(&plan, &result, err);

	*ret_is_left = result.is_left;
	take_conflicts(promote, &result);
	txn_result_done(&result);
	return status;
}

static void list_applied(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];

		if (item->fate != FATE_APPLIED)
			continue;
		strv_add(item->content == CONTENT_MERGED ? &promote->promotion->merged
							 : &promote->promotion->applied,
			 item->path);
	}
}

/* Others that see the target under their own changes. */
static void list_siblings(const struct promote *promote)
{
	const struct store *store = promote->sandbox->store;
	struct strv names = STRV_INIT;
	struct error ignored = { 0 };

	if (sandbox_list(store, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.count && i < SIBLINGS_MAX; i++) {
		struct sandbox other = { .dir_fd = -1, .lock_fd = -1 };

		if (strcmp(names.items[i], promote->sandbox->name) == 0 ||
		    sandbox_open(store, names.items[i], SANDBOX_UNLOCKED, &other, &ignored) < 0)
			continue;
		if (strcmp(other.workspace, promote->target) == 0)
			strv_add(&promote->promotion->siblings, names.items[i]);
		sandbox_close(&other);
	}
	strv_done(&names);
}

/* One transaction with its record: all that has a step in the plan. */
static int apply_planned(struct promote *promote, struct error *err)
{
	const struct store *store = promote->sandbox->store;
	struct error ignored = { 0 };
	bool is_left = false;

	if (begin(promote, err) < 0 || run(promote, &is_left, err) < 0) {
		/* The record leads the next command to what could be neither finished nor reversed, or not be removed. */
		if (!is_left)
			promotion_drop(store, promote->entry.id);
		return -1;
	}
	list_applied(promote);
	/* What is killed or fails from here on is done by recovery. */
	if (promote->entry.is_objects) {
		(void)promotion_settle_objects(store, &promote->entry, &ignored);
		return 0;
	}
	memcpy(promote->promotion->id, promote->entry.id, sizeof(promote->entry.id));
	free(promote->entry.state);
	promote->entry.state = xstrdup("live");
	promotion_note_applied(store, &promote->entry);
	/* It is done, and recovery would find it so: what cannot be noted now is noted then. */
	if (promotion_settle(store, &promote->entry, err) == 0)
		(void)promotion_save(store, &promote->entry, false, err);
	*err = (struct error){ 0 };
	return 0;
}

/* Plans and applies the objects of git, or all but them; what the other part is to get waits. */
static int apply_part(struct promote *promote, bool is_objects, struct error *err)
{
	owned(free_ptr) bool *waits = xcalloc(promote->count + 1, sizeof(bool));
	int status = 0;

	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		waits[i] = item->fate == FATE_APPLIED &&
			   path_is_within(item->path, "objects") != is_objects;
		if (waits[i])
			item->fate = FATE_LEFT;
	}
	promote->entry.is_objects = is_objects;
	promote_drop_plan(promote);
	if (promote_plan(promote, err) < 0 ||
	    (promote->op_count > 0 && apply_planned(promote, err) < 0))
		status = -1;
	for (size_t i = 0; i < promote->count; i++)
		if (waits[i])
			promote->items[i].fate = FATE_APPLIED;
	return status;
}

/*
 * Commits: the objects come first, and stay. Other branches may need them by the time the branch is taken back, and
 * objects that nothing names do no harm; so what is left to be undone is the branch, HEAD, the index and their logs.
 * Their record never says "live": killed between the two parts, a promotion has not happened.
 */
static int apply_commits(struct promote *promote, struct error *err)
{
	if (apply_part(promote, true, err) < 0)
		return -1;
	promotion_entry_done(&promote->entry);
	fd_close(&promote->lock_fd);
	return apply_part(promote, false, err);
}

int promote_apply(struct promote *promote, struct error *err)
{
	const struct store *store = promote->sandbox->store;
	int status;

	if (promote->op_count == 0)
		return 0;
	if (promote->request->dry_run) {
		list_applied(promote);
		return 0;
	}
	status = promote->request->commits ? apply_commits(promote, err)
					   : apply_planned(promote, err);
	if (status < 0)
		return -1;
	list_siblings(promote);
	promotion_trim(store, NULL);
	return 0;
}
