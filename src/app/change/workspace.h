/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named sandboxes as things to look at: listed, saved, compared, applied to the host and taken back.
 *
 * What comes back is data, as `--json` prints it; words for people are made from it by the operations. Running
 * commands in sandboxes is app/sandbox/sandbox.h.
 */
#ifndef APP_WORKSPACE_H
#define APP_WORKSPACE_H

#include "app/sandbox/sandbox.h"
#include "workspace/patch/patch.h"
#include "workspace/promote/promote.h"

/* One object per sandbox: {name, base, state, created, expires, snapshots, changes, disk_bytes, torn, partial}. */
int app_list(struct value **ret_list, struct error *err);

/* The same with {workspace, root, settings, processes, base_taken, snapshot, cpu_ms, memory_bytes}. */
int app_inspect(const char *name, struct value **ret_answer, struct error *err);

/* Ends all processes inside and removes it: its name at once, its files later. */
int app_remove(const char *name, struct error *err);

struct app_snap {
	const char *sandbox;
	const char *name;    /* NULL: the next free one */
	const char *message; /* NULL: none */
	enum quiesce_mode how;
	bool durable;
};

/* {sandbox, name, message, made, parent}. */
int app_snap(const struct app_snap *snap, struct value **ret_answer, struct error *err);

/*
 * One at a time may write files of a sandbox from outside. The file that is locked keeps what the holder writes into it:
 * the next holder after a killed one finds it. Closing it releases the lock.
 */
int app_files_lock(const char *sandbox, int *ret_fd, struct error *err);

/* Forgets an automatic snapshot, while processes inside are stopped. */
int app_snap_drop(const char *sandbox, const char *snapshot, struct error *err);

/* One object per snapshot, oldest first: {name, parent, message, made, auto, current, torn}. */
int app_snaps(const char *sandbox, struct value **ret_list, struct error *err);

/* {sandbox, snapshot, saved}: where it stands now (null: the base), and under which name the present was kept. */
int app_rollback(const char *sandbox, const char *snapshot, enum quiesce_mode how,
		 struct value **ret_answer, struct error *err);

struct app_fork {
	const char *from; /* NAME or NAME@SNAP */
	const char *new_name;
	const char *owner; /* of the new one; NULL: a person */
	bool keeps_owner;  /* that of FROM instead: for copies that are thrown away */
	uint64_t ttl_ms;   /* 0: none */
	enum quiesce_mode how;
};

/* {name, from, snapshot}. */
int app_fork(const struct app_fork *fork, struct value **ret_answer, struct error *err);

/* {sandbox, base_taken, saved}. */
int app_refresh(const char *sandbox, enum quiesce_mode how, struct value **ret_answer,
		struct error *err);

struct app_diff {
	const char *sandbox; /* NAME, or NAME@SNAP: that instead of the present */
	const char *
		range; /* A..B of snapshots, either may be left out; A alone is A..; NULL: all since the base */
	const char
		*path; /* only this one, as it is printed: relative in the workspace; NULL: all */
	enum patch_form form;
	unsigned columns;	/* of PATCH_STAT; 0: 80 */
	bool nul;		/* PATCH_NAME_STATUS */
	bool is_shown;		/* secrets in it become "[secret NAME]" */
	struct patch_sink sink; /* in any pieces when it is shown */
};

struct diff_outcome {
	bool differs;	 /* something changed */
	bool is_partial; /* not everything could be looked at, and why */
	char why_partial[DELTA_WHY_SIZE];
	size_t stale; /* files of them that the host changed since, too; counted with PATCH_UNIFIED and PATCH_JSON */
};

/* Writes what changed between two points. */
int app_diff(const struct app_diff *diff, struct diff_outcome *ret_outcome, struct error *err);

/*
 * {sandbox, stale, oldest, drift, files: [{path, kind, changed}], drifted: [paths], base_taken, partial,
 * clock_stepped}: touched files that the host changed too, and how many others moved since the clone.
 */
int app_status(const char *sandbox, struct value **ret_answer, struct error *err);

struct app_promote {
	const char *sandbox;	/* NAME or NAME@SNAP */
	const char *sandbox_id; /* only while the name is still that one's; NULL: whosever it is */
	const char *strategy;	/* NULL: fail */
	bool ignored;		/* also what git ignores; that is left out unless paths are given */
	bool commits;		/* those of its branch, instead of its files */
	struct promote_request
		request; /* what of it the caller sets: paths as raw bytes, borrowed; snapshot: or that of the name */
	enum quiesce_mode how;
	/* For a policy: the stage that it enters, rows of gates that were checked and of approvals; NULL: none. */
	const char *stage;
	const struct value *gates, *approvals;
	int policy_fd; /* of a kept evaluator of policies; 0: none */
};

/*
 * {promotion_id, bundle, sandbox, target, dry_run, applied, merged, skipped, ignored, ignored_at, conflicts:
 * [event], consent: [{path, why, flag}], undo}. On ERROR_CONSENT and ERROR_CONFLICT the answer is set too and the host is as it was.
 */
int app_promote(const struct app_promote *promote, struct value **ret_answer, struct error *err);

/* ID, or NULL: the newest live promotion whose target the current directory lies in. {promotion_id, target, paths}. */
int app_undo(const char *id, struct value **ret_answer, struct error *err);

/* Newest first: {promotion_id, sandbox, target, workspace of commits, state, made, undone, files, paths, bundle, owner, undo}. */
int app_promotions(struct value **ret_list, struct error *err);

#endif
