/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of questions to a person share: their files, and what each kind looks at and does. Private to app. */
#ifndef APP_ASK_PARTS_H
#define APP_ASK_PARTS_H

#include "app/change/workspace.h"
#include "app/stage/approval.h"

/* So many paths are shown; their number, and what the answer is bound to, stands for all of them. */
#define TOLD_PATHS 1000

/* The directory of all of them, locked: decisions and questions come one after the other. */
int approval_files_open(int *ret_fd, struct error *err);
int approval_read(int dir_fd, const char *id, struct value **ret_ask, struct error *err);
int approval_write(int dir_fd, const struct value *ask, struct error *err);
/* Room for one more question of OWNER's: moot ones and old answers make place, others wait for a person. */
int approval_files_make_room(int dir_fd, const char *owner, struct error *err);

bool approval_is_pending(const struct value *ask);
/* Whether another question that waits is about the same bundle. */
bool approval_is_shared(int dir_fd, const struct value *ask);
/* The id of the sandbox that has the name now, owned by the caller; NULL with ERR. */
char *approval_sandbox_id(const char *word, struct error *err);

/*
 * Looks at what is asked for and adds to ROW what the person is shown, and what the answer is bound to. On failure
 * *ret_refusal may be an answer with more detail.
 */
int ask_fill_promotion(const struct approval_request *ask, const char *sandbox_id,
		       struct value *row, struct value **ret_refusal, struct error *err);
int approval_fill_stages(const struct approval_request *ask, const char *sandbox_id,
			 struct value *row, struct value **ret_refusal, struct error *err);
int approval_fill_commit(const struct approval_request *ask, const char *sandbox_id,
			 struct value *row, struct value **ret_refusal, struct error *err);

/* Does what was asked for, exactly that, and adds to ASK what came of it. On failure nothing was done. */
int ask_apply_promotion(struct value *ask, const char *const *env, struct error *err);
int approval_apply_stages(struct value *ask, const char *const *env, struct error *err);
int approval_apply_commit(struct value *ask, const char *const *env, struct error *err);

/*
 * A promotion on trial, of what PROMOTE says: once for what needs agreement, and once as if all of it were given, which has the
 * digest. The answer has both.
 */
int ask_look(struct app_promote *promote, struct value **ret_answer, struct error *err);

/* "WHY PATH" of each trigger that ASK shows, as app_promote takes them. */
void ask_read_agreed(const struct value *ask, struct strv *ret_agreed);
/* What needs a word, of the answer of a promotion: [{path, path_b64, why}]. */
struct value *ask_triggers(const struct value *answer);

#endif
