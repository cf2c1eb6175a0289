/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that run commands and look after sandboxes. */
#include "ops/tools/tool_rows.h"

static const struct tool_arg run_args[] = {
	ARG_COMMAND, ARG_SCRIPT, ARG_CWD,
	ARG_ENV,     ARG_STDIN,	 ARG_TIME,
	ARG_LIMITS,  ARG_OUTPUT, { .name = "keep", .help = "keep the sandbox under this name" },
	ARG_TRACE,   END_ARGS,
};

/*
 * What a model decides by; run_show has the rest. What is null or an empty list is left out, and the schema has what
 * every run has.
 */
static const struct tool_field run_fields[] = {
	{ "run_id", "string", NULL },
	{ "trace_id", NULL, NULL },
	{ "sandbox", NULL, NULL },
	{ "status", "string", "success, error, timeout, oom, killed, limit, denied or internal" },
	{ "exit_code", "integer", NULL },
	{ "signal", NULL, NULL },
	{ "stdout", "string", NULL },
	{ "stderr", "string", NULL },
	{ "stdout_encoding", NULL, NULL },
	{ "stderr_encoding", NULL, NULL },
	{ "stdout_bytes", NULL, NULL },
	{ "stderr_bytes", NULL, NULL },
	{ "truncated", "boolean", "there is more in the resource log" },
	{ "log", "string", NULL },
	{ "duration_ms", NULL, NULL },
	{ "start", NULL, NULL },
	{ "degraded", NULL, NULL },
	{ "limits_hit", NULL, NULL },
	{ "denials", "array", "what was refused, and by which rule" },
	{ "changes", "object", NULL },
	{ "isolation", NULL, NULL },
	{ "message", "string", NULL },
	{ "injected", NULL, NULL },
	{ "notes", NULL, NULL },
	END_FIELDS,
};

const struct tool sandbox_run_tool = {
	.name = "sandbox_run",
	.title = "Run a command in a throw-away sandbox",
	.description =
		"Runs a command in a throw-away copy of this machine: it sees files and programs, "
		"what it writes or deletes is gone afterwards, there is no network unless the "
		"profile has it. A command that fails is no error of the tool: see exit_code.",
	.verb = "run",
	.args = run_args,
	.fields = run_fields,
	.flags = TOOL_CORE | TOOL_RUNS,
};

static const struct tool_arg create_args[] = {
	{ .name = "sandbox",
	  .to = TOOL_TO_NEW,
	  .help = "its name: a-z 0-9 . _ -; invented when left out" },
	{ .name = "ttl", .help = "removed after this time: 30m, 2h; default 24h" },
	{ .name = "worktree", .help = "git branch to be on, made if missing" },
	ARG_TIME,
	ARG_LIMITS,
	ARG_ENV,
	END_ARGS,
};

static const struct tool_field create_fields[] = {
	{ "name", "string", "for the other tools' argument sandbox" },
	{ "expires", "string", NULL },
	END_FIELDS,
};

const struct tool sandbox_create_tool = {
	.name = "sandbox_create",
	.title = "Make a sandbox that stays",
	.description =
		"Makes a named copy-on-write clone of this machine. What sandbox_exec does in it "
		"stays there, and reaches the real files by promotion only.",
	.verb = "create",
	.args = create_args,
	.fields = create_fields,
	.flags = TOOL_CORE,
};

static const struct tool_arg exec_args[] = {
	ARG_SANDBOX, ARG_COMMAND, ARG_SCRIPT, ARG_CWD,	 ARG_ENV,
	ARG_STDIN,   ARG_TIME,	  ARG_OUTPUT, ARG_TRACE, END_ARGS,
};

const struct tool sandbox_exec_tool = {
	.name = "sandbox_exec",
	.title = "Run a command in a sandbox",
	.description =
		"Runs a command in a sandbox made with sandbox_create and waits for it. What it "
		"changes is there for the next one.",
	.verb = "exec",
	.args = exec_args,
	.fields = run_fields,
	.flags = TOOL_CORE | TOOL_RUNS | TOOL_TIDY,
};

static const struct tool_arg no_args[] = { END_ARGS };
static const struct tool_arg sandbox_args[] = { ARG_SANDBOX, END_ARGS };

static const struct tool_field list_fields[] = { { "sandboxes", "array", NULL }, END_FIELDS };

const struct tool sandbox_list_tool = {
	.name = "sandbox_list",
	.title = "List sandboxes",
	.description = "Lists the sandboxes of this server: state, changes, snapshots, size.",
	.verb = "ls",
	.args = no_args,
	.fields = list_fields,
	.list = "sandboxes",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_field inspect_fields[] = {
	{ "name", "string", NULL },	     { "base", "string", NULL },
	{ "profile", "string", NULL },	     { "profile_sha256", "string", NULL },
	{ "state", "string", NULL },	     { "created", "string", NULL },
	{ "expires", "string", NULL },	     { "snapshots", "integer", NULL },
	{ "changes", "object", NULL },	     { "disk_bytes", "integer", NULL },
	{ "workspace", "string", NULL },     { "settings", "array", NULL },
	{ "processes", "array", NULL },	     { "snapshot", "string", NULL },
	{ "memory_bytes", "integer", NULL }, END_FIELDS,
};

const struct tool sandbox_inspect_tool = {
	.name = "sandbox_inspect",
	.title = "Look at one sandbox",
	.description = "Everything about one sandbox: settings, processes, changes, size.",
	.verb = "inspect",
	.args = sandbox_args,
	.fields = inspect_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_field stop_fields[] = {
	{ "name", "string", NULL },
	{ "stopped", "boolean", NULL },
	END_FIELDS,
};

const struct tool sandbox_stop_tool = {
	.name = "sandbox_stop",
	.title = "End the processes of a sandbox",
	.description = "Ends every process in a sandbox; its files stay.",
	.verb = "stop",
	.args = sandbox_args,
	.fields = stop_fields,
	.flags = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT,
};

static const struct tool_field remove_fields[] = {
	{ "removed", "array", NULL },
	END_FIELDS,
};

const struct tool sandbox_remove_tool = {
	.name = "sandbox_remove",
	.title = "Remove a sandbox",
	.description =
		"Removes a sandbox with its snapshots and processes. What was promoted stays.",
	.verb = "rm",
	.args = sandbox_args,
	.fields = remove_fields,
	.list = "removed",
	.flags = TOOL_DESTRUCTIVE | TOOL_FAILS,
};
