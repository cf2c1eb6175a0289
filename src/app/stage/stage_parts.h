/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of graduated promotion share. Private to app. */
#ifndef APP_STAGE_PARTS_H
#define APP_STAGE_PARTS_H

#include "app/stage/stage.h"
#include "decide/stage/bundle.h"
#include "decide/stage/pipeline.h"
#include "decide/stage/record.h"
#include "workspace/store/store.h"

/* A bundle in the store: stages/BUNDLE/{lock,bundle,record,approved-STAGE}. Must not be moved while it is open. */
struct stage_place {
	struct store store;
	bool has_store;
	int dir_fd;  /* -1: not open */
	int lock_fd; /* held by the process that works on it; -1: not locked */
	struct stage_record record;
	struct bundle bundle;
};

void stage_place_init(struct stage_place *place);
void stage_place_close(struct stage_place *place);

/* Names of all bundles, newest first. */
int stage_place_list(struct stage_place *place, struct strv *ret_names, struct error *err);

/* Opens bundle NAME (or the beginning of one) for looking at its record. */
int stage_place_open(struct stage_place *place, const char *name, struct error *err);

/* Locks it, and reads its contents; ERROR_CONFLICT while another process works on it. */
int stage_place_lock(struct stage_place *place, struct error *err);

/* Makes the place of place->bundle with LIKE's record where it is missing, and opens and locks it. */
int stage_place_make(struct stage_place *place, const struct stage_record *like, struct error *err);

/* Writes the record, on disk before it returns. */
int stage_place_save(struct stage_place *place, struct error *err);

/* Whether the store's owner let it enter STAGE. */
bool stage_place_is_approved(const struct stage_place *place, const char *stage);

/* Accounts that did, each once. */
#define STAGE_APPROVALS_MAX 64
struct stage_approvals {
	uid_t uids[STAGE_APPROVALS_MAX];
	size_t count;
};

void stage_approvals_read(const struct stage_place *place, const char *stage,
			  struct stage_approvals *ret_approvals);

/* Those of other accounts, and the caller's where it left one there. */
void stage_approvals_left(const char *bundle, const char *stage, struct stage_approvals *approvals);

/* [{uid, user}]. */
struct value *stage_approvals_rows(const struct stage_approvals *approvals);

/* Leaves the caller's approval of another's bundle where its owner finds it. */
int stage_approval_leave(const char *bundle, const char *stage, struct error *err);

/* What NAME@SNAPSHOT changed, its contents kept in the store. */
int stage_seal(const char *sandbox, const char *snapshot, const struct store *store,
	       struct bundle *ret_bundle, struct error *err);

/* One run. */
struct stage_run {
	const struct app_stage *wish;
	struct stage_place *place;
	const struct pipeline *pipeline;
	char **targets; /* absolute, by the pipeline's indices */
	struct strv tests;
	struct value *gates; /* rows of what was checked */
};

/* A clone of TARGET, made as the sandbox was, that is gone after a while by itself. */
int stage_clone(const struct stage_run *run, const char *name, const char *target,
		struct error *err);

/* Puts the bundle on top of the clone. ERROR_CONFLICT names where the target went another way. */
int stage_clone_fill(const struct stage_run *run, const char *clone, const char *target,
		     const char *strategy, struct error *err);

/* Whether sh -c TEXT ends with 0 in TARGET on the host itself, in time; without any protection. */
struct gate_verdict;
int stage_check_on_host(const char *text, const char *target, uint64_t time_ms,
			struct gate_verdict *ret_verdict, struct error *err);

/* All steps of one stage. *ret_is_live: it came through; else it was rolled back. */
int stage_enter(struct stage_run *run, size_t index, bool *ret_is_live, struct error *err);

/* What a killed run left, and what was undone by hand, settled. */
int stage_settle(struct stage_run *run, struct stage_entry *entry, struct error *err);

/* Whether the promotion ID was taken back. One that is no longer known was not. */
int stage_is_undone(const char *id, bool *ret_is_undone, struct error *err);

/* The answer about one bundle. */
struct value *stage_describe(const struct stage_place *place);

#endif
