/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two points of a sandbox: the host, a snapshot, the present. */
#include "app/git/git_named.h"
#include "app/change/secret_look.h"
#include "app/change/workspace_branch.h"
#include "app/change/workspace_parts.h"

#include "base/core/own.h"
#include "workspace/base/origin.h"

#include <string.h>

/* The two ends of a range; NULL for the old is the base, for the new the present. */
struct ends {
	char *old, *new;
};

static void ends_done(struct ends *ends)
{
	free(ends->old);
	free(ends->new);
}

static char *copy_or_null(const char *text, size_t len)
{
	return len > 0 ? xstrndup(text, len) : NULL;
}

/* A..B, A.., ..B or A; with NAME@SNAP, that is the new end. */
static int read_ends(const char *range, const char *snapshot, struct ends *ret_ends,
		     struct error *err)
{
	const char *dots = range ? strstr(range, "..") : NULL;

	if (range && dots) {
		ret_ends->old = copy_or_null(range, (size_t)(dots - range));
		ret_ends->new = copy_or_null(dots + 2, strlen(dots + 2));
	} else if (range) {
		ret_ends->old = xstrdup(range);
	}
	if (!snapshot)
		return 0;
	if (ret_ends->new)
		return error_set(err, ERROR_USAGE,
				 "@%s and ..%s both say where the comparison ends", snapshot,
				 ret_ends->new);
	ret_ends->new = xstrdup(snapshot);
	return 0;
}

/* The layers that the end NAME (NULL: the present) stands on, newest first. */
static int read_chain(const struct sandbox *sandbox, const char *name,
		      struct layer_chain *ret_chain, struct error *err)
{
	struct snapshot snapshot = { .name = "" };
	int status;

	if (!name)
		return layer_chain_read(sandbox->store, sandbox->head, ret_chain, err);
	if (snapshot_find(sandbox, name, &snapshot, err) < 0)
		return -1;
	status = layer_chain_read(sandbox->store, snapshot.layer, ret_chain, err);
	snapshot_done(&snapshot);
	return status;
}

/* One end, open: its layers, below a writable top when it is the present. */
struct side {
	struct view_stack stack;
	struct layer_chain chain;
	bool is_open;
};

static int side_open(const struct sandbox *sandbox, const char *name, struct side *side,
		     struct error *err)
{
	if (read_chain(sandbox, name, &side->chain, err) < 0 ||
	    app_view(sandbox, name, &side->stack, err) < 0)
		return -1;
	side->is_open = true;
	return 0;
}

static void side_done(struct side *side)
{
	layer_chain_done(&side->chain);
	if (side->is_open)
		view_close(&side->stack);
}

struct work {
	const struct sandbox *sandbox;
	const struct app_diff *diff;
	struct patch_sink sink;
	struct diff_outcome outcome;
};

/* Compared with the host as it is: what changed there meanwhile is marked. */
static bool wants_staleness(const struct app_diff *diff)
{
	return !diff->range && (diff->form == PATCH_JSON || diff->form == PATCH_UNIFIED);
}

/* The one entry of DELTA at PATH, as a delta that borrows it; empty when there is none. */
static struct delta delta_at(const struct delta *delta, const char *workspace, const char *path)
{
	owned(free_ptr) char *whole = xasprintf("%s/%s", workspace, path);
	struct delta one = *delta;

	one.count = 0;
	for (size_t i = 0; i < delta->count && one.count == 0; i++) {
		if (strcmp(delta->items[i].path, path[0] == '/' ? path : whole) == 0) {
			one.items = &delta->items[i];
			one.count = 1;
		}
	}
	return one;
}

static int write_delta(struct work *work, const struct view_stack *stack, const struct delta *all,
		       struct error *err)
{
	const struct delta one =
		work->diff->path ? delta_at(all, work->sandbox->workspace, work->diff->path) : *all;
	const struct delta *delta = &one;
	const struct sandbox *sandbox = work->sandbox;
	const struct app_diff *diff = work->diff;
	struct staleness staleness = { .count = 0 };
	struct origin_index *origins = NULL;
	struct error unread = { 0 };
	owned(strv_done) struct strv named = STRV_INIT;
	struct patch_options options = {
		.named = &named,
		.form = diff->form,
		.workspace = sandbox->workspace,
		.context = 3,
		.columns = diff->columns,
		.nul = diff->nul,
		.settings = &sandbox->settings,
	};
	int status = 0;

	/* Without an answer every path is marked: promote will ask about each. */
	(void)git_named(sandbox->workspace, &named, &unread);
	work->outcome.differs = delta->count > 0;
	work->outcome.is_partial = delta->is_partial;
	if (delta->is_partial)
		(void)delta_why_partial(delta, sandbox->workspace, work->outcome.why_partial);
	if (wants_staleness(diff)) {
		status = origin_staleness(sandbox, stack, delta, 0, &staleness, err);
		work->outcome.stale = staleness.count;
		if (status == 0 && diff->form == PATCH_JSON)
			status = origin_index_open(sandbox, stack, &origins, err);
		options.staleness = &staleness;
		options.origins = origins;
	}
	if (status == 0)
		status = patch_write(stack, delta, &options, &work->sink, err);
	origin_index_close(origins);
	staleness_done(&staleness);
	return status;
}

/* From an ancestor, or from the host, to the new end: one stack holds all of it. */
static int diff_straight(const struct side *new, size_t old_from, struct work *work,
			 struct error *err)
{
	struct delta_options options = { .workspace = work->sandbox->workspace,
					 .sandbox = work->sandbox,
					 .old_from = old_from,
					 .renames = true,
					 .split_renames = work->diff->form == PATCH_UNIFIED,
					 .expand = true };
	struct delta delta = { .count = 0 };
	int status = -1;

	if (delta_read(&new->stack, &options, &delta, err) == 0) {
		if (old_from == new->stack.count)
			origin_drop_settled(work->sandbox, &new->stack, &delta);
		status = write_delta(work, &new->stack, &delta, err);
	}
	delta_done(&delta);
	return status;
}

static int diff_branches(const struct side *old, const struct side *new, size_t common,
			 struct work *work, struct error *err)
{
	struct branch_end ends[] = { { &old->stack, old->stack.count - common },
				     { &new->stack, new->stack.count - common } };
	struct branch branch;
	int status;

	if (branch_read(&ends[0], &ends[1], work->sandbox->workspace, &branch, err) < 0)
		return -1;
	status = write_delta(work, &branch.stack, &branch.delta, err);
	branch_done(&branch);
	return status;
}

static int diff_ends(const struct ends *ends, struct work *work, struct error *err)
{
	owned(side_done) struct side old = { .chain = { .count = 0 } };
	owned(side_done) struct side new = { .chain = { .count = 0 } };
	size_t common;

	if (side_open(work->sandbox, ends->new, &new, err) < 0)
		return -1;
	if (!ends->old)
		return diff_straight(&new, new.stack.count, work, err);
	if (side_open(work->sandbox, ends->old, &old, err) < 0)
		return -1;
	common = layer_chain_common(&old.chain, &new.chain);
	if (common == old.stack.count)
		return diff_straight(&new, new.stack.count - common, work, err);
	return diff_branches(&old, &new, common, work, err);
}

int app_diff(const struct app_diff *diff, struct diff_outcome *ret_outcome, struct error *err)
{
	owned(opened_close) struct opened opened;
	owned(ends_done) struct ends ends = { NULL, NULL };
	owned(free_ptr) char *name = NULL;
	owned(free_ptr) char *snapshot = NULL;

	opened_init(&opened);
	workspace_split_name(diff->sandbox, &name, &snapshot);
	if (read_ends(diff->range, snapshot, &ends, err) < 0 ||
	    opened_open(&opened, name, SANDBOX_SHARED, err) < 0)
		return -1;
	struct work work = { .sandbox = &opened.sandbox, .diff = diff, .sink = diff->sink };
	owned(secret_veil_close) struct secret_veil veil = { .sink = &diff->sink };

	if (diff->is_shown) {
		if (secret_veil_open(&opened.sandbox, &veil, err) < 0)
			return -1;
		work.sink = (struct patch_sink){ secret_veil_add, &veil };
	}
	if (diff_ends(&ends, &work, err) < 0 || (diff->is_shown && secret_veil_end(&veil, err) < 0))
		return -1;
	*ret_outcome = work.outcome;
	return 0;
}
