/* SPDX-License-Identifier: Apache-2.0 */
/* Promotion as the verbs need it: without concurrent writers, its outcome as data, taken back, listed. */
#include "app/git/git_ignored.h"
#include "app/git/git_named.h"
#include "app/run/git_sandbox.h"
#include "app/run/warm_cache.h"
#include "app/record/record.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/change/secret_look.h"
#include "app/change/workspace_conflict.h"
#include "app/change/workspace_parts.h"
#include "app/vet/rego.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_undo(struct value *answer, const char *id)
{
	owned(free_ptr) char *command = xasprintf("aisbx undo %s", id);

	value_add(answer, "undo", value_new_text(id[0] ? command : NULL));
}

static struct value *describe_consents(const struct promotion *promotion, const char *workspace)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < promotion->consent_count; i++) {
		const struct consent *one = &promotion->consents[i];
		struct value *map = value_append(list, value_new_map());

		workspace_add_path(map, workspace_relative(one->path, workspace));
		value_add(map, "why", value_new_text(one->why));
		value_add(map, "flag", value_new_text(one->flag));
	}
	return list;
}

/* Where the version that was not taken can be read. */
static void add_kept(struct value *event, const struct conflict *conflict,
		     const struct sandbox *sandbox)
{
	owned(free_ptr) char *path = xasprintf("%s/cas/%.2s/%s", sandbox->store->path,
					       conflict->loser, conflict->loser + 2);

	value_add(event, "kept_as", value_new_text(conflict->loser[0] ? path : NULL));
}

/* What a command has to say as well that decides some paths of the same promotion. */
static struct value *describe_repeat(const struct promote_request *request)
{
	struct value *map = value_new_map();

	value_add(map, "target", value_new_text(request->target));
	value_add(map, "snap", value_new_text(request->snapshot));
	value_add(map, "swap", value_new_bool(request->swap));
	return map;
}

struct value *workspace_promotion_value(const struct promotion *promotion,
					const struct promote_request *request,
					const struct sandbox *sandbox)
{
	const char *workspace = sandbox->workspace;
	struct value *answer = value_new_map();
	struct value *conflicts;

	value_add(answer, "promotion_id", value_new_text(promotion->id[0] ? promotion->id : NULL));
	value_add(answer, "bundle",
		  value_new_text(promotion->digest[0] ? promotion->digest : NULL));
	value_add(answer, "sandbox", value_new_text(request->sandbox_name));
	value_add(answer, "target",
		  value_new_text(promotion->goal   ? promotion->goal
				 : request->to	   ? request->to
				 : request->target ? request->target
						   : workspace));
	value_add(answer, "repeat", describe_repeat(request));
	value_add(answer, "git", value_new_bool(promotion->is_git));
	value_add(answer, "dry_run", value_new_bool(request->dry_run));
	value_add(answer, "into_sandbox", value_new_bool(request->into_sandbox));
	value_add(answer, "applied", workspace_paths(&promotion->applied));
	value_add(answer, "merged", workspace_paths(&promotion->merged));
	value_add(answer, "skipped", workspace_paths(&promotion->skipped));
	value_add(answer, "ignored", value_new_int((int64_t)promotion->ignored));
	value_add(answer, "ignored_at", workspace_paths(&promotion->ignored_at));
	conflicts = value_add(answer, "conflicts", value_new_list());
	for (size_t i = 0; i < promotion->conflict_count; i++) {
		const struct conflict *conflict = &promotion->conflicts[i];

		add_kept(value_append(conflicts,
				      workspace_conflict_event(conflict, request, workspace)),
			 conflict, sandbox);
	}
	value_add(answer, "consent", describe_consents(promotion, workspace));
	set_undo(answer, promotion->id);
	return answer;
}

static int fill_request(const struct app_promote *promote, const struct sandbox *sandbox,
			struct promote_request *request, struct error *err)
{
	request->run_git = git_sandbox_run;
	request->find_ignored = promote->ignored ? NULL : git_ignored;
	request->sandbox_name = sandbox->name;
	request->owner = sandbox->owner;
	return promote->strategy ? promote_strategy_find(promote->strategy, &request->strategy, err)
				 : 0;
}

/* The git directory that belongs to a workspace and is promoted from by itself. */
struct outside_git {
	char *path;	/* absolute; NULL: it has none */
	char *own;	/* this worktree's part of it, relative */
	bool is_inside; /* it is the workspace's own .git */
};

static void outside_git_done(struct outside_git *git)
{
	free(git->path);
	free(git->own);
}

static int find_outside(const struct sandbox *sandbox, struct outside_git *ret_git,
			struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(request_done) struct request request = { 0 };

	if (sandbox_look_around(sandbox, &request, &around, err) < 0)
		return -1;
	if (around.paths.git_own)
		*ret_git = (struct outside_git){ xstrdup(around.paths.git[0].path),
						 xstrdup(around.paths.git_own), false };
	return 0;
}

/* The workspace's own git directory, for commits that are to go without its files. */
static int take_inside(const struct sandbox *sandbox, struct outside_git *git, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/.git", sandbox->workspace);
	struct stat st;

	if (git->path)
		return 0;
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(
			err, ERROR_NOT_FOUND,
			"%s is no git repository on the host: there is no branch to promote "
			"commits to",
			sandbox->workspace);
	*git = (struct outside_git){ ptr_take(&path), xstrdup(""), true };
	return 0;
}

/* Promotes commits: the git directory stands in for the workspace. */
static int run_commits(const struct opened *opened, struct view_stack *stack,
		       const struct promote_request *request, const struct outside_git *git,
		       struct promotion *ret_promotion, struct error *err)
{
	struct promote_request commits = *request;
	struct sandbox sandbox = opened->sandbox; /* borrows everything */

	sandbox.workspace = git->path;
	commits.commits = git->own;
	commits.workspace = opened->sandbox.workspace;
	commits.keeps_head = git->is_inside;
	return promote_run(&sandbox, stack, &commits, ret_promotion, err);
}

/* Whether commits were made that a promotion of the workspace leaves where they are. */
static bool has_commits(const struct opened *opened, struct view_stack *stack,
			const struct promote_request *request, const struct outside_git *git)
{
	struct promote_request trial = { .dry_run = true,
					 .allow_all = true,
					 .snapshot = request->snapshot,
					 .own_folders = request->own_folders,
					 .sandbox_name = request->sandbox_name };
	struct promotion promotion = { .id = "" };
	struct error reason = { 0 };
	bool found =
		git->path && (run_commits(opened, stack, &trial, git, &promotion, &reason) < 0 ||
			      promotion.applied.count > 0 || promotion.has_refs);

	promotion_done(&promotion);
	return found;
}

/* What lies in the outside git directory is left there by design; one line says so. */
static void drop_skipped(struct promotion *promotion, const struct outside_git *git)
{
	struct strv kept = STRV_INIT;

	for (size_t i = 0; git->path && i < promotion->skipped.count; i++) {
		const char *path = promotion->skipped.items[i];

		if (path[0] != '/' || !path_is_within(path, git->path))
			strv_add(&kept, path);
	}
	if (!git->path)
		return;
	strv_done(&promotion->skipped);
	promotion->skipped = kept;
}

/*
 * What the tools of a sandbox fetched and built stays warm once a person has taken over all that it changed; not by what
 * writes through by itself, which leaves out what would have to be asked about.
 */
static void keep_caches(const struct opened *opened, const struct promote_request *request,
			const struct view_stack *stack)
{
	owned(spec_done) struct spec spec;
	struct error ignored;

	spec_init(&spec);
	if (request->dry_run || request->into_sandbox || request->paths.count > 0 ||
	    request->artifact || request->target || request->leave ||
	    !cache_is_laid(opened->sandbox.dir_fd))
		return;
	if (sandbox_plan_masks(&opened->sandbox, &spec, &ignored) == 0)
		warm_cache_promoted(&opened->sandbox, &spec, stack, !request->snapshot);
}

static int promote_opened(struct opened *opened, const struct promote_request *request,
			  bool is_commits, struct value **ret_answer, struct error *err)
{
	owned(outside_git_done) struct outside_git git = { 0 };
	struct promotion promotion = { .id = "" };
	struct view_stack stack;
	int status;

	if (find_outside(&opened->sandbox, &git, err) < 0 ||
	    (is_commits && take_inside(&opened->sandbox, &git, err) < 0) ||
	    app_view(&opened->sandbox, request->snapshot, &stack, err) < 0)
		return -1;
	sandbox_fetch_blobs(&opened->sandbox, &stack);
	status = is_commits ? run_commits(opened, &stack, request, &git, &promotion, err)
			    : promote_run(&opened->sandbox, &stack, request, &promotion, err);
	/* Git may know more about what was lost; that is asked only when it is in the way. */
	if (status < 0 && !is_commits && err->code == ERROR_CONFLICT &&
	    sandbox_fetch_ancestors(&opened->sandbox, &promotion)) {
		promotion_done(&promotion);
		*err = (struct error){ 0 };
		status = promote_run(&opened->sandbox, &stack, request, &promotion, err);
	}
	drop_skipped(&promotion, &git);
	if (status == 0 && !is_commits)
		keep_caches(opened, request, &stack);
	if (status == 0 || err->code == ERROR_CONSENT || err->code == ERROR_CONFLICT) {
		struct sandbox shown = opened->sandbox; /* borrows everything */

		shown.workspace = is_commits ? git.path : shown.workspace;
		*ret_answer = workspace_promotion_value(&promotion, request, &shown);
		value_add(*ret_answer, "is_commits", value_new_bool(is_commits));
		value_add(*ret_answer, "commits_waiting",
			  value_new_bool(status == 0 && !is_commits &&
					 has_commits(opened, &stack, request, &git)));
	}
	promotion_done(&promotion);
	view_close(&stack);
	return status;
}

/* With a target that is absolute and without links: policies are asked about the place that is written to. */
static int promote_resolved(const struct app_promote *promote, struct value **ret_answer,
			    struct error *err)
{
	owned(opened_close) struct opened opened;
	owned(free_ptr) char *name = NULL;
	owned(free_ptr) char *snapshot = NULL;
	owned(free_ptr) char *judged = NULL;
	owned(strv_done) struct strv own_folders = STRV_INIT;
	owned(strv_done) struct strv named = STRV_INIT;
	owned(secret_look_close) struct secret_look look = { 0 };
	struct promote_request request = promote->request; /* borrows everything */
	bool frozen = false, is_read = true;
	struct error unread = { 0 };
	int status = -1;

	opened_init(&opened);
	/* Nothing of the host changes by these. */
	if (!request.dry_run && !request.into_sandbox &&
	    (policy_hand_over(err) < 0 ||
	     (promotion_policy && promotion_policy(promote, &judged, ret_answer, err) < 0)))
		return -1;
	if (judged)
		request.digest = judged;
	workspace_split_name(promote->sandbox, &name, &snapshot);
	request.snapshot = request.snapshot ? request.snapshot : snapshot;
	if (opened_open(&opened, name, request.snapshot ? SANDBOX_SHARED : SANDBOX_UNLOCKED, err) <
	    0)
		return -1;
	if (promote->sandbox_id && strcmp(promote->sandbox_id, opened.sandbox.id) != 0)
		return error_set(err, ERROR_CONFLICT,
				 "the sandbox %s is another one by now: the one that was asked "
				 "about is gone",
				 name);
	if (app_own_folders(&own_folders, err) < 0 ||
	    secret_look_open(&opened.sandbox, &look, err) < 0)
		return -1;
	request.check_content = secret_look_refuse;
	request.check_cookie = &look;
	/* A snapshot does not change any more; the present must not while it is looked at. */
	if (fill_request(promote, &opened.sandbox, &request, err) == 0 &&
	    (request.snapshot ||
	     app_quiesce(&opened.sandbox, workspace_pause(promote->how), &frozen, err) == 0)) {
		is_read = git_named(opened.sandbox.workspace, &named, &unread) == 0;
		request.named = &named;
		request.own_folders = &own_folders;
		status = promote_opened(&opened, &request, promote->commits, ret_answer, err);
	}
	if (status < 0 && !request.dry_run && err->code == ERROR_CONFLICT)
		record_named("conflict", name, NULL);
	else if (status < 0 && !request.dry_run && err->code == ERROR_CONSENT)
		record_named("refuse", name, NULL);
	if (status < 0 && err->code == ERROR_CONSENT && !is_read)
		return error_context(err, "any file may be one that git's configuration names (%s)",
				     unread.text);
	if (status == 0 && !request.dry_run)
		record_named("promote", name, value_get_text(*ret_answer, "promotion_id"));
	return status;
}

int app_promote(const struct app_promote *promote, struct value **ret_answer, struct error *err)
{
	struct app_promote resolved = *promote; /* borrows everything */
	const char *target = promote->request.target;
	owned(free_ptr) char *real = target ? path_real(target) : NULL;

	if (target && !real)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST,
				   "target '%s'", target);
	resolved.request.target = real;
	return promote_resolved(&resolved, ret_answer, err);
}

int app_undo(const char *id, struct value **ret_answer, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(strv_done) struct strv paths = STRV_INIT;
	owned(free_ptr) char *here = NULL;
	char undone[LAYER_ID_SIZE] = "";

	if (app_store(&store, err) < 0)
		return -1;
	if (!id) {
		here = getcwd(NULL, 0);
		if (!here)
			return error_advise(err, ERROR_HOST, "aisbx promotions lists them",
					    "the current directory was removed: change to one that "
					    "is there, or name the promotion");
	}
	if (promotion_undo(&store, id, here, undone, &paths, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "promotion_id", value_new_text(undone));
	value_add(*ret_answer, "paths", workspace_paths(&paths));
	record_named("undo", NULL, undone);
	return 0;
}

static struct value *describe_record(const struct promotion_record *record)
{
	struct value *row = value_new_map();
	bool live = strcmp(record->state, "live") == 0;
	bool is_known = strcmp(record->state, PROMOTION_UNREADABLE) != 0;

	value_add(row, "promotion_id", value_new_text(record->id));
	value_add(row, "sandbox", value_new_text(is_known ? record->sandbox : NULL));
	value_add(row, "target", value_new_text(is_known ? record->target : NULL));
	if (record->workspace)
		value_add(row, "workspace", value_new_text(record->workspace));
	value_add(row, "state", value_new_text(record->state));
	value_add(row, "made", workspace_time(record->made_ms));
	value_add(row, "undone", workspace_time(record->undone_ms));
	value_add(row, "files",
		  is_known ? value_new_int((int64_t)record->files) : value_new_null());
	value_add(row, "paths", is_known ? workspace_paths(&record->paths) : value_new_null());
	value_add(row, "bundle", value_new_text(is_known ? record->digest : NULL));
	value_add(row, "owner", value_new_text(record->owner));
	if (record->note)
		value_add(row, "note", value_new_text(record->note));
	set_undo(row, live ? record->id : "");
	return row;
}

int app_promotions(struct value **ret_list, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	struct promotion_record *items = NULL;
	size_t count = 0;

	if (app_store(&store, err) < 0 || promotion_list(&store, NULL, &items, &count, err) < 0)
		return -1;
	*ret_list = value_new_list();
	for (size_t i = 0; i < count; i++)
		value_append(*ret_list, describe_record(&items[i]));
	promotion_records_free(items, count);
	return 0;
}
