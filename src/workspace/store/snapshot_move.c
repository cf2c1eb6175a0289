/* SPDX-License-Identifier: Apache-2.0 */
/* Moving between snapshots: back, aside, and onto today's host; and forgetting one. */
#include "workspace/store/snapshot.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/snapshot_parts.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS_MAX 100000u

/*
 * The last snapshot the user made on the way that led here. Automatic ones are passed by: the one a rollback made must be
 * asked for by name.
 */
static int find_last_made(const struct sandbox *sandbox, struct snapshot *ret_snapshot,
			  struct error *err)
{
	char name[SNAPSHOT_NAME_MAX + 1];

	memcpy(name, sandbox->at, sizeof(name));
	for (unsigned i = 0; name[0] && i < ANCESTORS_MAX; i++) {
		owned(snapshot_done) struct snapshot snapshot = { 0 };

		if (snapshot_find(sandbox, name, &snapshot, err) < 0)
			return -1;
		if (!snapshot.is_auto) {
			*ret_snapshot = snapshot;
			snapshot.message = NULL;
			return 0;
		}
		memcpy(name, snapshot.parent, sizeof(name));
	}
	return snapshot_find(sandbox, SNAPSHOT_BASE, ret_snapshot, err);
}

/* Seals a dirty top as an automatic snapshot; the sandbox then stands on TO, or on the new layer when TO is NULL. */
static int save_present(struct sandbox *sandbox, const struct snapshot *to, const char *message,
			char ret_saved[static SNAPSHOT_NAME_MAX + 1], struct error *err)
{
	const struct snapshot_request request = { .is_auto = true, .message = message };
	owned(layer_commit_done) struct layer_commit seal = { 0 };

	if (snapshot_plan(sandbox, &request, &seal, err) < 0)
		return -1;
	if (to) {
		memcpy(seal.head, to->layer, sizeof(seal.head));
		memcpy(seal.at, to->name, sizeof(seal.at));
		if (strcmp(to->name, SNAPSHOT_BASE) == 0)
			seal.at[0] = '\0';
	}
	if (snapshot_seal(sandbox, &seal, err) < 0)
		return -1;
	memcpy(ret_saved, seal.snapshot.name, sizeof(seal.snapshot.name));
	return 0;
}

/* A clean top still has the attributes of the roots it was made on. */
static int stand_on(struct sandbox *sandbox, const struct snapshot *to, struct error *err)
{
	if (store_trash(sandbox->store, sandbox->dir_fd, "upper", err) < 0 ||
	    store_trash(sandbox->store, sandbox->dir_fd, "touched", err) < 0)
		return -1;
	memcpy(sandbox->head, to->layer, sizeof(sandbox->head));
	memcpy(sandbox->at, to->name, sizeof(sandbox->at));
	if (strcmp(to->name, SNAPSHOT_BASE) == 0)
		sandbox->at[0] = '\0';
	sandbox->upper_boot_id[0] = '\0';
	return sandbox_write_head(sandbox, err);
}

int snapshot_rollback(struct sandbox *sandbox, const char *name,
		      char ret_saved[static SNAPSHOT_NAME_MAX + 1], struct error *err)
{
	owned(snapshot_done) struct snapshot to = { 0 };
	owned(free_ptr) char *message = NULL;
	bool is_dirty;

	ret_saved[0] = '\0';
	if (name ? snapshot_find(sandbox, name, &to, err) < 0
		 : find_last_made(sandbox, &to, err) < 0)
		return -1;
	if (layer_commit_top_is_dirty(sandbox, &is_dirty, err) < 0)
		return -1;
	if (!is_dirty)
		return stand_on(sandbox, &to, err);
	message = xasprintf("before the rollback to %s", to.name);
	if (save_present(sandbox, &to, message, ret_saved, err) < 0)
		return -1;
	store_start_worker(sandbox->store);
	return 0;
}

/* The record a forked sandbox begins with: where a rollback of its own ends. */
static void format_fork(const struct sandbox *from, const struct snapshot *at, struct str *out)
{
	struct snapshot fork = { .made_ms = clock_epoch_ms() };
	owned(free_ptr) char *message =
		xasprintf("forked from %s@%s", from->name, at->name[0] ? at->name : SNAPSHOT_BASE);

	memcpy(fork.layer, at->layer, sizeof(fork.layer));
	fork.message = message;
	snapshot_format(&fork, out);
}

static int make_fork(const struct sandbox *from, const struct snapshot *at, const char *new_name,
		     uint64_t expires_ms, struct error *err)
{
	owned(str_done) struct str record = STR_INIT;
	const struct sandbox_make make = { .name = new_name,
					   .workspace = from->workspace,
					   .root = from->root,
					   .owner = from->owner,
					   .settings = &from->settings,
					   .expires_ms = expires_ms,
					   .head = at->layer,
					   .like = from,
					   .fork = &record };
	struct sandbox made;

	format_fork(from, at, &record);
	if (sandbox_make(from->store, &make, &made, err) < 0)
		return -1;
	sandbox_close(&made);
	return 0;
}

int snapshot_fork(struct sandbox *sandbox, const char *snapshot, const char *new_name,
		  uint64_t expires_ms, struct error *err)
{
	owned(snapshot_done) struct snapshot from = { 0 };
	char saved[SNAPSHOT_NAME_MAX + 1];
	bool is_dirty;

	if (sandbox_check_name(new_name, err) < 0)
		return -1;
	if (snapshot) {
		if (snapshot_find(sandbox, snapshot, &from, err) < 0)
			return -1;
		return make_fork(sandbox, &from, new_name, expires_ms, err);
	}
	if (sandbox_is_there(sandbox->store, new_name))
		return error_set(err, ERROR_CONFLICT, "there is a sandbox '%s' already", new_name);
	if (layer_commit_top_is_dirty(sandbox, &is_dirty, err) < 0)
		return -1;
	if (is_dirty) {
		owned(free_ptr) char *message = xasprintf("before the fork to %s", new_name);

		if (save_present(sandbox, NULL, message, saved, err) < 0)
			return -1;
		store_start_worker(sandbox->store);
	}
	memcpy(from.layer, sandbox->head, sizeof(from.layer));
	memcpy(from.name, sandbox->at, sizeof(from.name));
	return make_fork(sandbox, &from, new_name, expires_ms, err);
}

int snapshot_refresh(struct sandbox *sandbox, struct error *err)
{
	struct snapshot here = { 0 };
	char saved[SNAPSHOT_NAME_MAX + 1];
	bool is_dirty;

	if (layer_commit_top_is_dirty(sandbox, &is_dirty, err) < 0)
		return -1;
	if (is_dirty && save_present(sandbox, NULL, "before the refresh", saved, err) < 0)
		return -1;
	if (is_dirty)
		store_start_worker(sandbox->store);
	if (sandbox_take_base(sandbox, err) < 0)
		return -1;
	memcpy(here.layer, sandbox->head, sizeof(here.layer));
	memcpy(here.name, sandbox->at, sizeof(here.name));
	return stand_on(sandbox, &here, err);
}

/* Re-parent the sandboxes made on it first, so that no parent ever dangles. */
static int pass_on(struct sandbox *sandbox, const struct snapshot *gone, struct error *err)
{
	struct snapshots all;
	int status = 0;

	if (snapshot_list(sandbox, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count && status == 0; i++) {
		if (strcmp(all.items[i].parent, gone->name) != 0)
			continue;
		memcpy(all.items[i].parent, gone->parent, sizeof(gone->parent));
		status = layer_commit_write_snapshot(sandbox, &all.items[i], err);
	}
	snapshots_done(&all);
	if (status < 0 || strcmp(sandbox->at, gone->name) != 0)
		return status;
	memcpy(sandbox->at, gone->parent, sizeof(sandbox->at));
	return sandbox_write_head(sandbox, err);
}

int snapshot_drop(struct sandbox *sandbox, const char *name, struct error *err)
{
	owned(snapshot_done) struct snapshot gone = { 0 };
	owned(free_ptr) char *path = xasprintf("snaps/%s", name);

	if (snapshot_find(sandbox, name, &gone, err) < 0 || pass_on(sandbox, &gone, err) < 0)
		return -1;
	if (unlinkat(sandbox->dir_fd, path, 0) < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "cannot forget the snapshot '%s'", name);
	return 0;
}
