/* SPDX-License-Identifier: Apache-2.0 */
/* How far the host has moved since a sandbox took its base: where it matters, and elsewhere. */
#include "workspace/base/origin.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DRIFT_KEPT_MAX 1000

void staleness_done(struct staleness *staleness)
{
	for (size_t i = 0; i < staleness->count; i++)
		free(staleness->items[i].path);
	for (size_t i = 0; i < staleness->drift_kept; i++)
		free(staleness->drift[i].path);
	free(staleness->items);
	free(staleness->drift);
	*staleness = (struct staleness){ 0 };
}

static enum stale_kind kind_of(const struct origin *origin, const struct txn_identity *now)
{
	if (origin->quality == ORIGIN_EXACT)
		return STALE_NOT;
	if (!now->exists)
		return origin->identity.exists ? STALE_GONE : STALE_NOT;
	/* What it was is lost: all that is known is that it is not that any more. */
	if (origin->quality == ORIGIN_LOST || origin->identity.exists)
		return STALE_CHANGED;
	return STALE_APPEARED;
}

static void add_stale(struct staleness *staleness, const char *path, enum stale_kind kind,
		      const struct txn_identity *now)
{
	if ((staleness->count & (staleness->count - 1)) == 0)
		staleness->items =
			xrealloc(staleness->items, staleness->count ? staleness->count * 2 : 1,
				 sizeof(struct stale_entry));
	staleness->items[staleness->count++] = (struct stale_entry){
		.path = xstrdup(path),
		.kind = kind,
		.changed_ms = now->exists ? (uint64_t)now->ctime_ns / 1000000 : 0,
	};
}

/* Those of unknown time first: they may be the oldest. */
static int compare_times(const void *a, const void *b)
{
	const struct stale_entry *one = a, *other = b;

	if (one->changed_ms != other->changed_ms)
		return one->changed_ms < other->changed_ms ? -1 : 1;
	return strcmp(one->path, other->path);
}

static int find_stale(const struct origin_index *index, const struct delta *delta,
		      struct staleness *staleness, struct error *err)
{
	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];
		owned(origin_done) struct origin origin = { 0 };
		struct txn_identity now;

		if (!target_relative(index->sandbox->workspace, entry->path))
			continue;
		if (origin_find(index, entry, &origin, err) < 0)
			return -1;
		if (origin_index_look(index, origin_base_path(index->stack, entry), &now) < 0)
			return error_errno(err, ERROR_HOST, "cannot look at '%s'", entry->path);
		enum stale_kind kind = kind_of(&origin, &now);

		if (kind != STALE_NOT)
			add_stale(staleness, entry->path, kind, &now);
	}
	if (staleness->count > 1)
		qsort(staleness->items, staleness->count, sizeof(struct stale_entry),
		      compare_times);
	return 0;
}

/* A walk of the workspace for what changed since the base was taken. */
struct drift_walk {
	const struct origin_index *index;
	const struct delta *delta;
	struct staleness *staleness;
};

static int compare_entry(const void *path, const void *entry)
{
	return strcmp(path, ((const struct delta_entry *)entry)->path);
}

/* Listed already, or the result of the sandbox's own promotion. */
static bool is_known(const struct drift_walk *walk, const char *path,
		     const struct txn_identity *now)
{
	const struct origin_record *record = origin_index_record(walk->index, path);

	if (record && target_is_same(&record->origin.identity, now))
		return true;
	return walk->delta->count > 0 && bsearch(path, walk->delta->items, walk->delta->count,
						 sizeof(struct delta_entry), compare_entry);
}

static int look_at(const struct walk_entry *entry, void *cookie)
{
	const struct drift_walk *walk = cookie;
	const struct sandbox *sandbox = walk->index->sandbox;
	struct staleness *staleness = walk->staleness;
	struct txn_identity now;

	if (S_ISDIR(entry->st->stx_mode) ||
	    (uint64_t)entry->st->stx_ctime.tv_sec * 1000000000u + entry->st->stx_ctime.tv_nsec <
		    sandbox->base_ns)
		return 0;
	owned(free_ptr) char *path = xasprintf("%s/%s", sandbox->workspace, entry->path);

	if (txn_identity_of(entry->dir_fd, entry->name, &now) < 0)
		staleness->is_partial = true;
	if (!now.exists || is_known(walk, path, &now))
		return 0;
	staleness->drift_count++;
	if (staleness->drift_kept == DRIFT_KEPT_MAX)
		return 0;
	if (!staleness->drift)
		staleness->drift = xcalloc(DRIFT_KEPT_MAX, sizeof(struct stale_entry));
	staleness->drift[staleness->drift_kept++] = (struct stale_entry){
		.path = ptr_take(&path),
		.kind = now.btime_ns >= sandbox->base_ns ? STALE_APPEARED : STALE_CHANGED,
		.changed_ms = (uint64_t)now.ctime_ns / 1000000,
	};
	return 0;
}

int origin_staleness(const struct sandbox *sandbox, const struct view_stack *stack,
		     const struct delta *delta, uint64_t walk_until_ns,
		     struct staleness *ret_staleness, struct error *err)
{
	struct staleness staleness = { 0 };
	struct origin_index *index;

	if (origin_index_open(sandbox, stack, &index, err) < 0)
		return -1;
	struct drift_walk drift = { .index = index, .delta = delta, .staleness = &staleness };
	struct walk walk = {
		.purpose = WALK_DRIFT, .visit = look_at, .cookie = &drift, .until_ns = walk_until_ns
	};
	int status = find_stale(index, delta, &staleness, err);

	staleness.clock_stepped = !index->times_hold;
	/* Without times drift cannot be detected. */
	staleness.is_partial = walk_until_ns && staleness.clock_stepped;
	if (status == 0 && walk_until_ns && index->times_hold) {
		(void)walk_tree(&walk, index->workspace_fd, ".");
		staleness.is_partial |= (walk.missed & WALK_CUT) != 0;
	}
	origin_index_close(index);
	if (status < 0) {
		staleness_done(&staleness);
		return -1;
	}
	*ret_staleness = staleness;
	return 0;
}
