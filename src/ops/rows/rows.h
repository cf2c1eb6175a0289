/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind the rows of table.c, and what several of them share; docs/adding-a-verb.md says how to add one. */
#ifndef OPS_ROWS_H
#define OPS_ROWS_H

#include "app/sandbox/sandbox.h"
#include "ops/op.h"

/* One function a verb. */
typedef int op_function(struct op_call *call, struct error *err);
extern op_function op_allow_run, op_archive_run, op_artifact_run, op_batch_run, op_bench_run,
	op_cp_run, op_create_run, op_daemon_run, op_deny_run, op_diff_run, op_doctor_run,
	op_doctor_fix, op_events_run, op_exec_run, op_explain_run, op_files_run, op_fork_run,
	op_gate_run, op_gc_run, op_guard_run, op_help_run, op_history_run, op_agent_run,
	op_hook_run, op_image_run, op_init_run, op_inspect_run, op_job_run, op_logs_run, op_ls_run,
	op_mcp_run, op_mount_run, op_net_run, op_plan_run, op_policy_run, op_poll_run,
	op_profile_run, op_promote_run, op_promotions_run, op_queue_run, op_race_run,
	op_refresh_run, op_repo_run, op_rm_run, op_rollback_run, op_run_run, op_scan_run,
	op_search_run, op_secret_run, op_serve_run, op_setup_run, op_drivers_run, op_shell_run,
	op_show_run, op_sign_run, op_snap_run, op_snaps_run, op_stage_run, op_stats_run,
	op_status_run, op_stop_run, op_sync_run, op_task_run, op_todo_run, op_top_run, op_tour_run,
	op_try_run, op_undo_run, op_ui_run, op_version_run, op_wasm_run, op_services_run,
	op_push_run, op_pull_run, op_conflicts_run, op_key_run;

/* Whether the one of LIST whose KEY is ID has the digest DIGEST, which was shown. */
int promotion_check_digest(const struct value *list, const char *key, const char *id,
			   const char *digest, struct error *err);

/* Rows of the groups that have a file of their own. */
extern const struct op race_row, gate_row, task_row, job_row;
extern const struct op stage_row, artifact_row, repo_row, push_row, pull_row, conflicts_row,
	key_row;
extern const struct op image_row, init_row, wasm_row, allow_row, deny_row, net_row, mount_row;
extern const struct op daemon_row, queue_row, ui_row, mcp_row, files_row, agent_row, hook_row,
	setup_row, serve_row;
extern const struct op scan_row, sign_row, policy_row, secret_row;
extern const struct op history_row, show_row, explain_row, logs_row, stats_row, guard_row, top_row,
	events_row, search_row, sync_row, archive_row;
extern const struct op poll_row, todo_row;
extern const struct op services_row;
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
 * Fills the call with the result of a run: its data, or notes, and the exit status. OUTCOME is what app returned,
 * ERR its error. Returns OUTCOME.
 */
int op_result(struct op_call *call, struct run_result *result, int outcome,
	      const struct error *err);

/*
 * Fills the call with the result of a promotion and returns the exit status: 0, 3 or 4; -1 when it failed otherwise. ANSWER, OUTCOME and
 * ERR are app_promote's.
 */
int op_promotion(struct op_call *call, const struct value *answer, int outcome, const char *again,
		 const struct error *err);

/* Adds paths as `diff --name-status` prints them: quoted ones are read back, "./" in front is for names like -x. */
int op_read_paths(const struct strv *words, size_t from, struct strv *ret_paths, struct error *err);

struct app_diff;
/* Adds what DIFF asks for to the call's text or data; its sink is set here. */
int op_diff(struct op_call *call, struct app_diff *diff, bool *ret_differs, struct error *err);
/* The histogram, names in front on request; more than FOLD_LINES changes are folded unless --all was given. */
int op_diff_short(struct op_call *call, const struct app_diff *diff, bool with_names,
		  bool *ret_differs, struct error *err);

/* --ttl in milliseconds; 0 when it is not given. */
int op_ttl(const struct op_call *call, uint64_t *ret_ms, struct error *err);

/* What --freeze and --kill say about processes that are still alive. */
int op_quiet(const struct op_call *call, enum quiesce_mode *ret_how, struct error *err);

/* BYTES as the answer's {content, encoding: "utf-8" or "base64"}, the latter also where they are no text; and as they are. */
void op_report_content(struct op_call *call, const struct str *bytes, bool as_base64);

/* The gates of an answer of app_gate_check, one line each. */
void op_report_gates(struct str *out, const struct value *answer);

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

/* The log of a verb that serves, by its --log-format and --log-level; IS_DETACHED: it will have no stderr. */
int op_log_open(const struct op_call *call, bool is_detached, struct error *err);

/* What may follow the words of the call's command, for the shells; the last of them is unfinished. */
int help_complete(struct op_call *call, struct error *err);

#endif
