/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments and answers that several tools have in common, and the rows of each group. */
#ifndef OPS_TOOL_ROWS_H
#define OPS_TOOL_ROWS_H

#include "ops/tools/tool.h"

#define ARG_SANDBOX                                                                            \
	{                                                                                      \
		.name = "sandbox", .to = TOOL_TO_SANDBOX, .required = true, .help = "its name" \
	}
#define ARG_COMMAND                                                                \
	{                                                                          \
		.name = "command", .type = TOOL_COMMAND, .to = TOOL_TO_COMMAND,    \
		.help = "a list: program and arguments, no shell; a string: sh -c" \
	}
#define ARG_SCRIPT                                           \
	{                                                    \
		.name = "script", .to = TOOL_TO_SCRIPT,      \
		.help = "instead of command: text for sh -c" \
	}
#define ARG_CWD                                               \
	{                                                     \
		.name = "cwd", .to = TOOL_TO_DIRECTORY,       \
		.help = "where it starts; default: workspace" \
	}
#define ARG_ENV                                                                        \
	{                                                                              \
		.name = "env", .type = TOOL_PAIRS, .help = "variables for the command" \
	}
#define ARG_STDIN                                                                       \
	{                                                                               \
		.name = "stdin", .to = TOOL_TO_INPUT, .help = "text for standard input" \
	}
#define ARG_TIME                                                 \
	{                                                        \
		.name = "time", .help = "limit, such as 30s, 5m" \
	}
#define ARG_OUTPUT                                                           \
	{                                                                    \
		.name = "output", .help = "kept of each stream, such as 64k" \
	}
#define ARG_TRACE                                                                      \
	{                                                                              \
		.name = "trace_id", .target = "trace", .help = "your name for the run" \
	}
#define ARG_LIMITS                                                                       \
	{ .name = "mem", .help = "memory, such as 512m" },                               \
		{ .name = "cpu", .type = TOOL_NUMBER, .help = "cores, such as 1.5" },    \
		{ .name = "pids", .type = TOOL_INT, .help = "processes and threads" },   \
		{ .name = "disk", .help = "what may be written, such as 1g" },           \
		{ .name = "net",                                                         \
		  .choices = "none|loopback|allow|all",                                  \
		  .help = "network, within the profile" },                               \
		{ .name = "allow",                                                       \
		  .type = TOOL_TEXTS,                                                    \
		  .help = "HOST[:PORT] opened, within the profile" },                    \
		{ .name = "deny", .type = TOOL_TEXTS, .help = "HOST[:PORT] refused" },   \
	{                                                                                \
		.name = "profile", .to = TOOL_TO_PROFILE, .help = "the limits that hold" \
	}
#define ARG_KILL                                                                           \
	{                                                                                  \
		.name = "kill", .type = TOOL_BOOL, .help = "end what is alive in it first" \
	}
#define ARG_IGNORED                                                                   \
	{                                                                             \
		.name = "ignored", .type = TOOL_BOOL, .help = "also what git ignores" \
	}
#define ARG_COMMITS                                                                              \
	{                                                                                        \
		.name = "commits", .type = TOOL_BOOL, .help = "commits of its branch, not files" \
	}

#define END_ARGS             \
	{                    \
		.name = NULL \
	}
#define END_FIELDS               \
	{                        \
		NULL, NULL, NULL \
	}

extern const struct tool sandbox_run_tool, sandbox_create_tool, sandbox_exec_tool,
	sandbox_list_tool, sandbox_inspect_tool, sandbox_stop_tool, sandbox_remove_tool;
extern const struct tool sandbox_snapshot_tool, sandbox_snapshots_tool, sandbox_rollback_tool,
	sandbox_fork_tool, sandbox_diff_tool, sandbox_status_tool, refresh_tool;
extern const struct tool files_read_tool, files_write_tool, files_list_tool, files_edit_tool;
extern const struct tool promote_request_tool, promotion_list_tool;
/* In no list: what resources are made of. Ended by NULL. */
extern const struct tool *const unlisted_tools[];
extern const struct tool scan_tool;
extern const struct tool race_tool, gate_check_tool, task_tool, guard_tool, artifact_save_tool,
	repo_commit_tool, stage_run_tool, stage_status_tool;
extern const struct tool exec_start_tool, poll_tool, write_stdin_tool, kill_tool, plan_create_tool,
	plan_update_tool;
extern const struct tool history_tool, search_tool, logs_tool, show_tool;

#endif
