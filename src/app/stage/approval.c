/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions that a program asked for: looked at, held still, applied; and the way of every question. */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "app/stage/ask_parts.h"
#include "app/record/record.h"
#include "app/stage/stage.h"
#include "app/trial/gates.h"
#include "app/change/workspace_parts.h"
#include "observe/result.h"

#include <stdlib.h>
#include <string.h>

#define SNAP_TRIES 3

static void copy_path(const struct value *from, struct value *to)
{
	const char *coded = value_get_text(from, "path_b64");

	value_add(to, "path", value_new_text(value_get_text(from, "path")));
	if (coded)
		value_add(to, "path_b64", value_new_text(coded));
}

static struct value *copy_paths(const struct value *answer, const char *key, struct value *list)
{
	const struct value *from = value_get(answer, key);

	for (size_t i = 0; from && i < from->many.count && list->many.count < TOLD_PATHS; i++) {
		const struct value *one = from->many.items[i];
		struct value *copy =
			one->kind == VALUE_TEXT ? value_new_text(one->text.bytes) : value_new_map();

		/* What is not UTF-8 keeps its bytes: its form to look at may be another file's name. */
		if (one->kind == VALUE_MAP)
			copy_path(one, copy);
		value_append(list, copy);
	}
	return list;
}

struct value *ask_triggers(const struct value *answer)
{
	const struct value *consents = value_get(answer, "consent");
	struct value *list = value_new_list();

	for (size_t i = 0; i < value_list_count(answer, "consent"); i++) {
		const struct value *from = consents->many.items[i];
		struct value *row = value_append(list, value_new_map());

		copy_path(from, row);
		value_add(row, "why", value_new_text(value_get_text(from, "why")));
	}
	return list;
}

/* Of commits: the branch that they are of, for the person who is asked; NULL where none moves. */
static const char *find_branch(const struct value *paths)
{
	static const char refs[] = "refs/heads/";

	for (size_t i = 0; i < paths->many.count; i++) {
		const struct value *path = paths->many.items[i];

		if (path->kind == VALUE_TEXT && str_starts(path->text.bytes, refs))
			return path->text.bytes + strlen(refs);
	}
	return NULL;
}

static void describe(const struct approval_request *ask, const struct value *answer,
		     struct value *row)
{
	struct value *paths = value_new_list();
	size_t files = value_list_count(answer, "applied") + value_list_count(answer, "merged");

	value_add(row, "target", value_new_text(value_get_text(answer, "target")));
	value_add(row, "bundle", value_new_text(value_get_text(answer, "bundle")));
	value_add(row, "strategy", value_new_text(ask->strategy));
	value_add(row, "files", value_new_int((int64_t)files));
	copy_paths(answer, "applied", paths);
	value_add(row, "paths", copy_paths(answer, "merged", paths));
	value_add(row, "only", ask->paths ? value_from_strv(ask->paths) : value_new_list());
	value_add(row, "with_ignored", value_new_bool(ask->ignored));
	value_add(row, "is_commits", value_new_bool(ask->commits));
	if (ask->commits)
		value_add(row, "branch", value_new_text(find_branch(value_get(answer, "applied"))));
	value_add(row, "triggers", ask_triggers(answer));
	value_add(row, "git", value_new_bool(value_is_true(answer, "git")));
	value_add(row, "promotion_id", value_new_null());
}

/*
 * What is asked about must not move between the look at it and the answer: the present is saved first, and that is
 * looked at and applied. NAME@SNAP, the caller's to free; NULL with ERR.
 */
static char *hold_still(const char *sandbox, struct error *err)
{
	owned(value_release) struct value *made = NULL;
	const struct app_snap snap = { .sandbox = sandbox,
				       .message = "asked to be promoted",
				       .how = QUIET_FREEZE };

	if (strchr(sandbox, '@'))
		return xstrdup(sandbox);
	/* A supervisor may end while it is asked to stop all processes; the next try finds it gone. */
	for (unsigned left = SNAP_TRIES; app_snap(&snap, &made, err) < 0; left--) {
		if (err->code != ERROR_HOST || left == 0)
			return NULL;
	}
	return xasprintf("%s@%s", sandbox, value_get_text(made, "name"));
}

int ask_look(struct app_promote *promote, struct value **ret_answer, struct error *err)
{
	struct promote_request *request = &promote->request;
	struct value *consents;
	int status;

	request->dry_run = true;
	request->allow_all = request->allow_privilege = request->allow_special = false;
	request->allow_paths = (struct strv)STRV_INIT;
	request->agreed = NULL;
	request->digest = NULL;
	if (app_promote(promote, ret_answer, err) == 0)
		return 0;
	if (err->code != ERROR_CONSENT)
		return -1;
	consents = value_take(*ret_answer, "consent");
	value_free(*ret_answer);
	*ret_answer = NULL;
	request->allow_all = true;
	status = app_promote(promote, ret_answer, err);
	if (status == 0)
		value_set(*ret_answer, "consent", consents);
	else
		value_free(consents);
	return status;
}

static int look(const struct approval_request *ask, const char *sandbox_id,
		struct value **ret_answer, struct error *err)
{
	struct app_promote dry = { .sandbox = ask->sandbox,
				   .sandbox_id = sandbox_id,
				   .strategy = ask->strategy,
				   .ignored = ask->ignored,
				   .commits = ask->commits };

	if (ask->paths)
		dry.request.paths = *ask->paths;
	if (ask_look(&dry, ret_answer, err) < 0)
		return -1;
	if (value_list_count(*ret_answer, "applied") + value_list_count(*ret_answer, "merged") == 0)
		return error_set(err, ERROR_USAGE, "there is nothing to promote from %s",
				 ask->sandbox);
	if (!value_get_text(*ret_answer, "bundle"))
		return error_set(err, ERROR_INTERNAL, "a bundle without a digest");
	return 0;
}

/* Exactly what was shown to need a word: what needs one only by now was not agreed to. */
void ask_read_agreed(const struct value *ask, struct strv *ret_agreed)
{
	const struct value *triggers = value_get(ask, "triggers");

	for (size_t i = 0; i < value_list_count(ask, "triggers"); i++) {
		const char *path = value_get_text(triggers->many.items[i], "path");
		const char *coded = value_get_text(triggers->many.items[i], "path_b64");
		const char *why = value_get_text(triggers->many.items[i], "why");
		owned(str_done) struct str raw = STR_INIT;

		if (coded && base64_read(&raw, coded, strlen(coded)))
			path = str_cstr(&raw);
		if (path && why)
			strv_addf(ret_agreed, "%s %s", why, path);
	}
}

int ask_apply_promotion(struct value *ask, const char *const *env, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT, agreed = STRV_INIT;
	owned(value_release) struct value *promoted = NULL;
	const struct value *only = value_get(ask, "only");
	struct app_promote promote = { .sandbox = value_get_text(ask, "sandbox"),
				       .sandbox_id = value_get_text(ask, "sandbox_id"),
				       .request.agreed = &agreed,
				       .strategy = value_get_text(ask, "strategy"),
				       .ignored = value_is_true(ask, "with_ignored"),
				       .commits = value_is_true(ask, "is_commits"),
				       .request.digest = value_get_text(ask, "bundle") };

	(void)env;
	if (!promote.sandbox || !promote.sandbox_id || !promote.request.digest)
		return error_set(err, ERROR_INPUT, "the request is damaged");
	for (size_t i = 0; only && only->kind == VALUE_LIST && i < only->many.count; i++) {
		if (only->many.items[i]->kind == VALUE_TEXT)
			strv_add(&paths, only->many.items[i]->text.bytes);
	}
	ask_read_agreed(ask, &agreed);
	promote.request.paths = paths;
	if (app_promote(&promote, &promoted, err) < 0)
		return error_context(err, "nothing was promoted");
	value_set(ask, "promotion_id", value_new_text(value_get_text(promoted, "promotion_id")));
	value_set(ask, "undo", value_new_text(value_get_text(promoted, "undo")));
	return 0;
}

/* A snapshot that was made for a question is of no use once there is an answer. */
static void let_go(const char *sandbox)
{
	owned(free_ptr) char *name = NULL, *snapshot = NULL;
	struct error ignored;

	workspace_split_name(sandbox, &name, &snapshot);
	if (snapshot)
		(void)app_snap_drop(name, snapshot, &ignored);
}

int ask_fill_promotion(const struct approval_request *given, const char *sandbox_id,
		       struct value *row, struct value **ret_refusal, struct error *err)
{
	struct approval_request ask = *given;
	owned(value_release) struct value *seen = NULL;
	owned(free_ptr) char *held = hold_still(given->sandbox, err);
	bool is_own = !strchr(given->sandbox, '@');

	if (!held)
		return -1;
	ask.sandbox = held;
	if ((ask.commits && app_commits_check(held, ask.environ, err) < 0) ||
	    look(&ask, sandbox_id, &seen, err) < 0) {
		*ret_refusal = ptr_take(&seen);
		if (is_own)
			let_go(held);
		return -1;
	}
	value_set(row, "sandbox", value_new_text(held));
	value_add(row, "held", value_new_bool(is_own));
	describe(&ask, seen, row);
	return 0;
}

static const struct {
	const char *name;
	int (*fill)(const struct approval_request *ask, const char *sandbox_id, struct value *row,
		    struct value **ret_refusal, struct error *err);
	int (*apply)(struct value *ask, const char *const *env, struct error *err);
} kinds[] = {
	[APPROVAL_PROMOTION] = { "promotion", ask_fill_promotion, ask_apply_promotion },
	[APPROVAL_STAGES] = { "stages", approval_fill_stages, approval_apply_stages },
	[APPROVAL_COMMIT] = { "commit", approval_fill_commit, approval_apply_commit },
};

static struct value *new_row(const struct approval_request *ask, const char *sandbox_id,
			     const char *id)
{
	struct value *row = value_new_map();
	char now[32];

	time_format_utc(clock_epoch_ms(), now);
	value_add(row, "request_id", value_new_text(id));
	value_add(row, "kind", value_new_text(kinds[ask->kind].name));
	value_add(row, "state", value_new_text("pending"));
	value_add(row, "sandbox", value_new_text(ask->sandbox));
	value_add(row, "sandbox_id", value_new_text(sandbox_id));
	value_add(row, "reason", value_new_text(ask->reason));
	value_add(row, "owner", value_new_text(ask->owner));
	value_add(row, "made", value_new_text(now));
	return row;
}

/* Questions from before there were kinds are about promotions. */
static size_t kind_of(const struct value *ask)
{
	const char *name = value_get_text(ask, "kind");

	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	}
	return APPROVAL_PROMOTION;
}

/* What was held for the question; stages that are entered keep what they are entered with. */
static void let_go_of(int dir_fd, const struct value *ask, bool is_approved)
{
	const char *bundle = value_get_text(ask, "bundle");

	if (value_is_true(ask, "held"))
		let_go(value_get_text(ask, "sandbox"));
	if (kind_of(ask) == APPROVAL_STAGES && !is_approved && bundle && dir_fd >= 0 &&
	    !approval_is_shared(dir_fd, ask))
		app_stage_let_go(bundle);
}

/* Looks; of a look that fails nothing stays. */
static int fill(const struct approval_request *ask, const char *sandbox_id, struct value *row,
		struct value **ret_answer, struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	struct error ignored;

	if (kinds[ask->kind].fill(ask, sandbox_id, row, ret_answer, err) == 0)
		return 0;
	if (approval_files_open(&dir_fd, &ignored) == 0)
		let_go_of(dir_fd, row, false);
	return -1;
}

int approval_make(const struct approval_request *ask, struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *sandbox_id = approval_sandbox_id(ask->sandbox, err);
	owned(value_release) struct value *row = NULL;
	owned(fd_close) int dir_fd = -1;
	char id[ID_RUN_SIZE];

	if (!sandbox_id || id_run(id, err) < 0 || approval_files_open(&dir_fd, err) < 0 ||
	    approval_files_make_room(dir_fd, ask->owner, err) < 0)
		return -1;
	/* Looking takes long, and others may ask meanwhile. */
	fd_close(&dir_fd);
	row = new_row(ask, sandbox_id, id);
	if (fill(ask, sandbox_id, row, ret_answer, err) < 0)
		return -1;
	if (approval_files_open(&dir_fd, err) < 0 ||
	    approval_files_make_room(dir_fd, ask->owner, err) < 0 ||
	    approval_write(dir_fd, row, err) < 0) {
		let_go_of(dir_fd, row, false);
		return -1;
	}
	record_named("ask", value_get_text(row, "sandbox"), id);
	*ret_answer = ptr_take(&row);
	return 0;
}

int approval_decide(const char *id, bool is_approved, const char *const *env,
		    struct value **ret_answer, struct error *err)
{
	owned(value_release) struct value *ask = NULL;
	owned(fd_close) int dir_fd = -1;

	if (approval_files_open(&dir_fd, err) < 0 || approval_read(dir_fd, id, &ask, err) < 0)
		return -1;
	if (!approval_is_pending(ask))
		return error_set(err, ERROR_CONFLICT, "the request %s is %s already", id,
				 value_get_text(ask, "state"));
	if (is_approved && kinds[kind_of(ask)].apply(ask, env, err) < 0)
		return -1;
	value_set(ask, "state", value_new_text(is_approved ? "approved" : "rejected"));
	if (approval_write(dir_fd, ask, err) < 0)
		return -1;
	let_go_of(dir_fd, ask, is_approved);
	record_named(is_approved ? "approve" : "reject", value_get_text(ask, "sandbox"), id);
	*ret_answer = ptr_take(&ask);
	return 0;
}

bool approval_may_gates_decide(const struct value *ask)
{
	const struct value *triggers = value_get(ask, "triggers"), *only = value_get(ask, "only");
	const char *strategy = value_get_text(ask, "strategy");

	return !value_is_true(ask, "git") && !value_is_true(ask, "is_commits") && triggers &&
	       triggers->many.count == 0 && only && only->many.count == 0 &&
	       (!strategy || strcmp(strategy, "fail") == 0 || strcmp(strategy, "merge") == 0);
}
