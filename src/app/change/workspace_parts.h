/* SPDX-License-Identifier: Apache-2.0 */
/* What the workspace verbs of app share: a sandbox with its store, and small pieces of answers. */
#ifndef APP_WORKSPACE_PARTS_H
#define APP_WORKSPACE_PARTS_H

#include "app/change/workspace.h"
#include "workspace/delta/delta.h"

/* A sandbox and the store it lies in. Must not be moved while it is open: one points to the other. */
struct opened {
	struct store store;
	struct sandbox sandbox;
	bool has_store, has_sandbox;
};

void opened_init(struct opened *opened);
void opened_close(struct opened *opened);

/* Opens the caller's store and sandbox NAME in it; a malformed name is ERROR_USAGE before any path is made of it. */
int opened_open(struct opened *opened, const char *name, enum sandbox_lock lock, struct error *err);

/* For what leaves services running: they are halted where other processes would be refused. */
static inline enum quiesce_mode workspace_pause(enum quiesce_mode how)
{
	return how == QUIET_REFUSE ? QUIET_PAUSE : how;
}

/* Opens it without writers, locked exclusively (QUIET_FREEZE: shared; *ret_frozen: app_thaw is due). */
int opened_open_quiesced(struct opened *opened, const char *name, enum quiesce_mode how,
			 bool *ret_frozen, struct error *err);

/* Every path at which the host shows one of our own folders or programs: nothing that comes out of a sandbox is written there. */
int app_own_folders(struct strv *ret_paths, struct error *err);

/* What came of a promotion, as data. */
struct promotion;
struct promote_request;
struct value *workspace_promotion_value(const struct promotion *promotion,
					const struct promote_request *request,
					const struct sandbox *sandbox);

/* NAME@SNAP taken apart. SNAP is NULL without an @; both are owned by the caller. */
void workspace_split_name(const char *word, char **ret_name, char **ret_snapshot);

/* The text form of a moment; null for 0. */
struct value *workspace_time(uint64_t epoch_ms);

/* {added, modified, deleted}. */
struct value *workspace_counts(uint64_t added, uint64_t modified, uint64_t deleted);

/* PATH as the command line shows it: relative to WORKSPACE inside it, else absolute. Points into PATH. */
const char *workspace_relative(const char *path, const char *workspace);

/* Sets `path`, and `path_b64` when it is not UTF-8 (then `path` is a form to look at). */
void workspace_add_path(struct value *map, const char *path);

/* A list of paths: each as text when it is UTF-8, else as {path, path_b64}. */
struct value *workspace_paths(const struct strv *paths);

/*
 * Asks the policies about a promotion that is to be made, and checks what they demand. *RET_DIGEST, the caller's, is that of
 * what was judged; NULL without a policy. On failure *RET_ANSWER may be that of the promotion on trial. In aisbx-full only
 * (app/stage/promotion_policy.c).
 */
int promotion_policy(const struct app_promote *promote, char **ret_digest,
		     struct value **ret_answer, struct error *err);
#pragma weak promotion_policy

#endif
