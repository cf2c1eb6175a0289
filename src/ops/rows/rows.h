/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind the rows of table.c, and what several of them share; docs/adding-a-verb.md says how to add one. */
#ifndef OPS_ROWS_H
#define OPS_ROWS_H

#include "app/sandbox/sandbox.h"
#include "ops/op.h"

int op_batch_run(struct op_call *call, struct error *err);
int op_run_run(struct op_call *call, struct error *err);
int op_plan_run(struct op_call *call, struct error *err);
int op_doctor_run(struct op_call *call, struct error *err);
int op_profile_run(struct op_call *call, struct error *err);
int op_bench_run(struct op_call *call, struct error *err);
int op_gc_run(struct op_call *call, struct error *err);
int op_version_run(struct op_call *call, struct error *err);
int op_help_run(struct op_call *call, struct error *err);
int op_create_run(struct op_call *call, struct error *err);
int op_exec_run(struct op_call *call, struct error *err);
int op_todo_run(struct op_call *call, struct error *err);
int op_poll_run(struct op_call *call, struct error *err);
int op_shell_run(struct op_call *call, struct error *err);
int op_ls_run(struct op_call *call, struct error *err);
int op_inspect_run(struct op_call *call, struct error *err);
int op_stop_run(struct op_call *call, struct error *err);
int op_cp_run(struct op_call *call, struct error *err);
int op_rm_run(struct op_call *call, struct error *err);
int op_snap_run(struct op_call *call, struct error *err);
int op_snaps_run(struct op_call *call, struct error *err);
int op_rollback_run(struct op_call *call, struct error *err);
int op_fork_run(struct op_call *call, struct error *err);
int op_refresh_run(struct op_call *call, struct error *err);
int op_diff_run(struct op_call *call, struct error *err);
int op_status_run(struct op_call *call, struct error *err);
int op_promote_run(struct op_call *call, struct error *err);
int op_undo_run(struct op_call *call, struct error *err);
int op_promotions_run(struct op_call *call, struct error *err);
int op_try_run(struct op_call *call, struct error *err);
int op_race_run(struct op_call *call, struct error *err);
int op_gate_run(struct op_call *call, struct error *err);
int op_task_run(struct op_call *call, struct error *err);
int op_tour_run(struct op_call *call, struct error *err);
int op_stage_run(struct op_call *call, struct error *err);
int op_artifact_run(struct op_call *call, struct error *err);
int op_wasm_run(struct op_call *call, struct error *err);
int op_repo_run(struct op_call *call, struct error *err);
int op_history_run(struct op_call *call, struct error *err);
int op_show_run(struct op_call *call, struct error *err);
int op_explain_run(struct op_call *call, struct error *err);
int op_logs_run(struct op_call *call, struct error *err);
int op_stats_run(struct op_call *call, struct error *err);
int op_events_run(struct op_call *call, struct error *err);
int op_top_run(struct op_call *call, struct error *err);
int op_guard_run(struct op_call *call, struct error *err);
int op_scan_run(struct op_call *call, struct error *err);
int op_sign_run(struct op_call *call, struct error *err);
int op_daemon_run(struct op_call *call, struct error *err);
int op_files_run(struct op_call *call, struct error *err);
int op_hook_run(struct op_call *call, struct error *err);
int op_setup_run(struct op_call *call, struct error *err);
int op_mcp_run(struct op_call *call, struct error *err);
int op_allow_run(struct op_call *call, struct error *err);
int op_deny_run(struct op_call *call, struct error *err);
int op_mount_run(struct op_call *call, struct error *err);
int op_net_run(struct op_call *call, struct error *err);

/* Rows of the groups that have a file of their own. */
extern const struct op race_row, gate_row, task_row;
extern const struct op stage_row, artifact_row, repo_row;
extern const struct op wasm_row, allow_row, deny_row, net_row, mount_row;
extern const struct op daemon_row, mcp_row, files_row, hook_row, setup_row;
extern const struct op scan_row, sign_row;
extern const struct op history_row, show_row, explain_row, logs_row, stats_row, guard_row, top_row,
	events_row;
extern const struct op poll_row, todo_row;
extern const struct op create_row, exec_row, shell_row, ls_row, inspect_row, stop_row, rm_row,
	cp_row;
extern const struct op snap_row, snaps_row, rollback_row, fork_row, refresh_row;
extern const struct op try_row, diff_row, status_row, promote_row, undo_row, promotions_row;

/*
 * What `run` and `plan` have in common: the call's flags and command as a request. On success the
 * caller owns *ret_request (request_done); it borrows the call's environ.
 */
int op_request(struct op_call *call, struct request *ret_request, struct error *err);

/*
 * What the descriptor named by the flag NAME holds, read to its end: MIN is the lowest number allowed, LIMIT the most
 * bytes. 1, 0 when the flag was not given, -1 on failure.
 */
int op_arg_descriptor(const struct op_call *call, const char *name, int min, size_t limit,
		      struct str *ret_bytes, struct error *err);

/* Adds the variables of --env-fd to SETTINGS. */
int op_take_variables(const struct op_call *call, struct settings *settings, struct error *err);

/* Shows a denial when it happens; COOKIE is the call, which has `note`. */
void op_denied(const struct denial *denial, void *cookie);

/*
 * Fills the call with the result of a run: its data, or notes, and the exit status. OUTCOME is what the engine returned,
 * ERR its error. Returns OUTCOME.
 */
int op_result(struct op_call *call, struct run_result *result, int outcome,
	      const struct error *err);

/*
 * Fills the call with the result of a promotion and returns the exit status: 0, 3 or 4; -1 when it failed otherwise. ANSWER, OUTCOME and
 * ERR are engine_promote's.
 */
int op_promotion(struct op_call *call, const struct value *answer, int outcome, const char *again,
		 const struct error *err);

/* Adds paths as `diff --name-status` prints them: quoted ones are read back, "./" in front is for names like -x. */
int op_read_paths(const struct strv *words, size_t from, struct strv *ret_paths, struct error *err);

struct engine_diff;
/* Adds what DIFF asks for to the call's text or data; its sink is set here. */
int op_diff(struct op_call *call, struct engine_diff *diff, bool *ret_differs, struct error *err);
/* The histogram, names in front on request; more than FOLD_LINES changes are folded unless --all was given. */
int op_diff_short(struct op_call *call, const struct engine_diff *diff, bool with_names,
		  bool *ret_differs, struct error *err);

/* --ttl in milliseconds; 0 when it is not given. */
int op_ttl(const struct op_call *call, uint64_t *ret_ms, struct error *err);

/* What --freeze and --kill say about processes that are still alive. */
int op_quiet(const struct op_call *call, enum quiesce_mode *ret_how, struct error *err);

/* BYTES as the answer's {content, encoding: "utf-8" or "base64"}, the latter also where they are no text; and as they are. */
void op_tell_content(struct op_call *call, const struct str *bytes, bool as_base64);

/* The gates of an answer of engine_gate_check, one line each. */
void op_tell_gates(struct str *out, const struct value *answer);

/* The counts in ROW's `changes`: "+1 ~2 -0". */
void op_add_changes(struct str *out, const struct value *row);

/* A topic of `help TOPIC`: words for people. */
struct help_topic {
	const char *name;
	const char *summary;
	const char *text;
};

/* Ended by a row without a name. */
extern const struct help_topic help_topics[];

/* What may follow the words of the call's command, for the shells; the last of them is unfinished. */
int help_complete(struct op_call *call, struct error *err);

#endif
