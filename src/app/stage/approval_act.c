/* SPDX-License-Identifier: Apache-2.0 */
/* What else changes the host, and a program may ask a person for: a way through the stages, a commit. */
#include "base/core/own.h"
#include "app/stage/ask_parts.h"
#include "app/stage/repo.h"
#include "app/stage/stage.h"
#include "app/change/workspace.h"

static void move_key(struct value *from, struct value *to, const char *key)
{
	struct value *item = value_take(from, key);

	value_set(to, key, item ? item : value_new_null());
}

/* What the sealed bundle holds that could make something run, by a look at it against the sandbox's own workspace. */
static int find_triggers(const struct approval_request *ask, const char *snapshot,
			 struct value *row, struct value **ret_refusal, struct error *err)
{
	const struct app_promote dry = { .sandbox = ask->sandbox,
					 .ignored = ask->ignored,
					 .request.snapshot = snapshot,
					 .strategy = "theirs",
					 .request.dry_run = true };
	owned(value_release) struct value *answer = NULL;

	if (app_promote(&dry, &answer, err) < 0 && err->code != ERROR_CONSENT) {
		*ret_refusal = ptr_take(&answer);
		return -1;
	}
	value_add(row, "triggers", answer ? ask_triggers(answer) : value_new_list());
	value_add(row, "git", value_new_bool(answer && value_is_true(answer, "git")));
	return 0;
}

int approval_fill_stages(const struct approval_request *ask, const char *sandbox_id,
			 struct value *row, struct value **ret_refusal, struct error *err)
{
	const struct app_stage stage = { .sandbox = ask->sandbox,
					 .to = ask->to,
					 .environ = ask->environ };
	owned(value_release) struct value *seen = NULL;

	(void)sandbox_id;
	if (app_stage_look(&stage, &seen, err) < 0)
		return -1;
	move_key(seen, row, "bundle");
	if (find_triggers(ask, value_get_text(seen, "snapshot"), row, ret_refusal, err) < 0)
		return -1;
	move_key(seen, row, "stages");
	move_key(seen, row, "files");
	move_key(seen, row, "paths");
	value_add(row, "to", value_new_text(ask->to));
	value_add(row, "with_ignored", value_new_bool(ask->ignored));
	return 0;
}

int approval_apply_stages(struct value *ask, const char *const *env, struct error *err)
{
	owned(strv_done) struct strv agreed = STRV_INIT;
	owned(value_release) struct value *answer = NULL;
	struct app_stage stage = { .sandbox = value_get_text(ask, "sandbox"),
				   .to = value_get_text(ask, "to"),
				   .ignored = value_is_true(ask, "with_ignored"),
				   .bundle = value_get_text(ask, "bundle"),
				   .stages = value_get(ask, "stages"),
				   .agreed = &agreed,
				   .environ = env };

	if (!stage.sandbox || !stage.bundle || !stage.stages)
		return error_set(err, ERROR_INPUT, "the request is damaged");
	ask_read_agreed(ask, &agreed);
	int status = app_stage_run(&stage, &answer, err);

	if (!answer)
		return -1;
	/* How far it came is an answer; that it went no further stands beside it. */
	value_set(ask, "note", value_new_text(status < 0 ? err->text : NULL));
	move_key(answer, ask, "outcome");
	move_key(answer, ask, "stages");
	move_key(answer, ask, "gates");
	return 0;
}

int approval_fill_commit(const struct approval_request *ask, const char *sandbox_id,
			 struct value *row, struct value **ret_refusal, struct error *err)
{
	const struct app_commit commit = { .sandbox = ask->sandbox, .environ = ask->environ };
	owned(value_release) struct value *seen = NULL;

	(void)sandbox_id;
	(void)ret_refusal;
	if (app_repo_look(&commit, &seen, err) < 0)
		return -1;
	move_key(seen, row, "target");
	move_key(seen, row, "branch");
	move_key(seen, row, "promotion_id");
	move_key(seen, row, "files");
	move_key(seen, row, "paths");
	value_add(row, "triggers", value_new_list());
	value_add(row, "message", value_new_text(ask->message));
	return 0;
}

int approval_apply_commit(struct value *ask, const char *const *env, struct error *err)
{
	const struct app_commit commit = { .sandbox = value_get_text(ask, "sandbox"),
					   .message = value_get_text(ask, "message"),
					   .promotion_id = value_get_text(ask, "promotion_id"),
					   .branch = value_get_text(ask, "branch"),
					   .environ = env };
	owned(value_release) struct value *answer = NULL;

	if (!commit.sandbox || !commit.message || !commit.promotion_id)
		return error_set(err, ERROR_INPUT, "the request is damaged");
	if (app_repo_commit(&commit, &answer, err) < 0)
		return -1;
	move_key(answer, ask, "commit");
	move_key(answer, ask, "skipped");
	move_key(answer, ask, "note");
	return 0;
}
