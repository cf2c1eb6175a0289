/* SPDX-License-Identifier: Apache-2.0 */
/* From a delta to the host, step by step: listed, selected, judged, consented to, sealed, applied. */
#include "workspace/promote/promote.h"

#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/promote/promote_commits.h"
#include "workspace/promote/promote_left.h"
#include "workspace/promote/promote_own.h"
#include "workspace/store/snapshot.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPTS 3
#define GIT_WAIT_STEPS 20
#define GIT_WAIT_STEP_NS 100000000l

static void conflicts_done(struct promotion *promotion)
{
	for (size_t i = 0; i < promotion->conflict_count; i++) {
		free(promotion->conflicts[i].path);
		free(promotion->conflicts[i].hunks);
		strv_done(&promotion->conflicts[i].names);
	}
	free(promotion->conflicts);
	promotion->conflicts = NULL;
	promotion->conflict_count = 0;
}

void promotion_done(struct promotion *promotion)
{
	free_ptr(&promotion->goal);
	strv_done(&promotion->applied);
	strv_done(&promotion->merged);
	strv_done(&promotion->skipped);
	strv_done(&promotion->siblings);
	strv_done(&promotion->ignored_at);
	conflicts_done(promotion);
	for (size_t i = 0; i < promotion->consent_count; i++) {
		free(promotion->consents[i].path);
		free(promotion->consents[i].why);
	}
	free(promotion->consents);
	*promotion = (struct promotion){ 0 };
}

static void item_done(struct item *item)
{
	origin_done(&item->origin);
	free(item->now_link);
	str_done(&item->merged);
	xattr_list_done(&item->xattrs);
	xattr_list_done(&item->merged_xattrs);
}

static void promote_done(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++)
		item_done(&promote->items[i]);
	free(promote->items);
	promote_moved_done(promote);
	strv_done(&promote->texts);
	promote_drop_plan(promote);
	promotion_entry_done(&promote->entry);
	origin_index_close(promote->origins);
	delta_done(&promote->delta);
	git_tree_free(promote->tree);
	branch_move_free(promote->move);
	free(promote->target);
	fd_close(&promote->target_fd);
	fd_close(&promote->lock_fd);
}

/* What a crash of the machine may have cut short is for looking at. */
static int check_whole(const struct promote *promote, struct error *err)
{
	const struct sandbox *sandbox = promote->sandbox;
	owned(layer_chain_done) struct layer_chain chain = { 0 };
	char boot_id[37];

	if (store_boot_id(boot_id, err) < 0 ||
	    layer_chain_read(sandbox->store, sandbox->head, &chain, err) < 0)
		return -1;
	bool is_torn = !promote->request->snapshot && sandbox_is_torn(sandbox, boot_id);

	for (size_t i = 0; i < chain.count; i++)
		is_torn = is_torn || layer_is_torn(&chain.items[i], boot_id);
	if (is_torn)
		return error_set(
			err, ERROR_DENIED,
			"the machine went down while '%s' was written: it can be looked at, "
			"but not promoted",
			sandbox->name);
	return 0;
}

int promote_open_target(struct promote *promote, struct error *err)
{
	/* What is left unfinished changes the target when it is finished: a plan made before that would miss it. */
	if (!promote->request->dry_run &&
	    promotion_finish_target(promote->sandbox->store, promote->target, err) < 0)
		return -1;
	return target_open(promote->target, &promote->target_fd, err);
}

static int open_target(struct promote *promote, struct error *err)
{
	const char *target = promote->request->target;
	owned(free_ptr) char *real = NULL;

	if (target) {
		real = path_real(target);
		if (!real)
			return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST,
					   "target '%s'", target);
	}
	promote->target = xstrdup(real ? real : promote->sandbox->workspace);
	promote->is_workspace = strcmp(promote->target, promote->sandbox->workspace) == 0;
	return promote_open_target(promote, err);
}

/* A git at work in the target holds its lock for moments; a lock that stays is an error. */
static int wait_for_git(struct promote *promote, struct error *err)
{
	const struct timespec step = { .tv_nsec = GIT_WAIT_STEP_NS };
	const char *own = promote->request->commits ? promote->request->commits : ".git";
	owned(free_ptr) char *path = xasprintf("%s%sindex.lock", own, *own ? "/" : "");
	struct item lock = { .path = path, .place = path };

	for (int i = 0; i < GIT_WAIT_STEPS; i++) {
		if (target_see(promote->target_fd, lock.path, &lock.now, err) < 0)
			return -1;
		if (!lock.now.exists || promote->request->dry_run)
			return 0;
		(void)nanosleep(&step, NULL);
	}
	promote_add_conflict(promote, &lock, "busy");
	return error_set(err, ERROR_CONFLICT, "a git is at work in '%s': %s is there",
			 promote->target, path);
}

/* Conflicts without a decision stop everything. */
int promote_check_open(const struct promote *promote, struct error *err)
{
	const struct promotion *promotion = promote->promotion;
	const struct conflict *first = NULL;
	char shown[STR_SHOWN_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < promotion->conflict_count; i++) {
		if (promotion->conflicts[i].resolution)
			continue;
		first = first ? first : &promotion->conflicts[i];
		count++;
	}
	if (count == 0)
		return 0;
	return error_set(err, ERROR_CONFLICT, "%zu conflict%s with the host: '%s' (%s)%s", count,
			 count == 1 ? "" : "s", str_shown(first->path, shown), first->kind,
			 count > 1 ? " and others" : "");
}

/* Promoting some of the changes moves the host under the others: what they started from is written down before. */
static int capture(const struct promote *promote, struct error *err)
{
	if (promote->request->dry_run || promote->request->snapshot)
		return 0;
	return origin_capture(promote->sandbox, promote->stack, &promote->delta, NULL, err);
}

static int work(struct promote *promote, struct error *err)
{
	if (promote_find_mounts(promote, err) < 0 || promote_list(promote, err) < 0 ||
	    capture(promote, err) < 0 ||
	    origin_index_open(promote->sandbox, promote->stack, &promote->origins, err) < 0 ||
	    promote_select(promote, err) < 0 || promote_check_commits(promote, err) < 0 ||
	    promote_judge(promote, err) < 0 || promote_check_move(promote, err) < 0 ||
	    promote_refuse_own(promote, err) < 0 || promote_ask(promote, err) < 0)
		return -1;
	if (promote->request->into_sandbox)
		return promote_into_sandbox(promote, err);
	if (promote_check_open(promote, err) < 0 || promote_seal(promote, err) < 0 ||
	    promote_plan(promote, err) < 0)
		return -1;
	if (promote->op_count > 0 &&
	    (wait_for_git(promote, err) < 0 || promote_unfold(promote, err) < 0))
		return -1;
	return promote_apply(promote, err);
}

/* The host moved between our look and the transaction's: worth another look, since it may all be in order. */
static bool is_worth_again(const struct promotion *promotion, const struct error *err)
{
	if (err->code != ERROR_CONFLICT)
		return false;
	for (size_t i = 0; i < promotion->conflict_count; i++)
		if (strcmp(promotion->conflicts[i].kind, "changed") == 0)
			return true;
	return false;
}

static int attempt(struct sandbox *sandbox, struct view_stack *stack,
		   const struct promote_request *request, struct promotion *promotion,
		   struct error *err)
{
	owned(promote_done) struct promote promote = {
		.sandbox = sandbox,
		.stack = stack,
		.request = request,
		.promotion = promotion,
		.caller = consent_caller(),
		.target_fd = -1,
		.lock_fd = -1,
	};

	if (check_whole(&promote, err) < 0 || snapshot_sync(sandbox->store, err) < 0)
		return -1;
	if (request->artifact)
		return promote_artifact(&promote, err);
	return open_target(&promote, err) < 0 ? -1 : work(&promote, err);
}

int promote_run(struct sandbox *sandbox, struct view_stack *stack,
		const struct promote_request *request, struct promotion *ret_promotion,
		struct error *err)
{
	*ret_promotion = (struct promotion){ 0 };
	for (int i = 1;; i++) {
		int status = attempt(sandbox, stack, request, ret_promotion, err);

		if (status == 0 || i == ATTEMPTS || !is_worth_again(ret_promotion, err))
			return status;
		promotion_done(ret_promotion);
		*err = (struct error){ 0 };
	}
}
