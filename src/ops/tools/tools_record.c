/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that look back at what ran. */
#include "ops/tools/tool_rows.h"

static const struct tool_arg history_args[] = {
	{ .name = "sandbox", .help = "only runs in that sandbox" },
	{ .name = "status", .help = "only runs that ended so: success, error, timeout, ..." },
	{ .name = "text", .help = "only commands with that in them" },
	{ .name = "since", .help = "only later ones: 30m, 2h, 7d ago" },
	{ .name = "count", .type = TOOL_INT, .help = "at most that many; default 100" },
	{ .name = "trace_id", .target = "trace", .help = "only runs with that trace id" },
	END_ARGS,
};

static const struct tool_field history_fields[] = { { "runs", "array", "newest first" },
						    END_FIELDS };

const struct tool history_tool = {
	.name = "history",
	.title = "What ran, newest first",
	.description = "Lists runs of this server, newest first: command, status, figures.",
	.verb = "history",
	.args = history_args,
	.fields = history_fields,
	.list = "runs",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_arg search_args[] = {
	{ .name = "words",
	  .to = TOOL_TO_WORD,
	  .required = true,
	  .help = "what to look for: \"tests failed port in use\"" },
	{ .name = "failed", .type = TOOL_BOOL, .help = "only runs that did not end well" },
	{ .name = "since", .help = "only later ones: 30m, 2h, 7d ago" },
	{ .name = "limit", .type = TOOL_INT, .help = "at most that many; default 10" },
	END_ARGS,
};

static const struct tool_field search_fields[] = { { "found", "array", "best first" }, END_FIELDS };

const struct tool search_tool = {
	.name = "search",
	.title = "Find earlier runs by words",
	.description = "Finds runs of this server by command, output and error, best first.",
	.verb = "search",
	.args = search_args,
	.fields = search_fields,
	.list = "found",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_arg run_args[] = {
	{ .name = "run_id",
	  .to = TOOL_TO_WORD,
	  .required = true,
	  .help = "from a run's answer, or from history" },
	END_ARGS,
};

static const struct tool_field show_fields[] = {
	{ "run_id", "string", NULL },
	{ "trace_id", "string", NULL },
	{ "sandbox", "string", NULL },
	{ "command", "array", NULL },
	{ "status", "string", NULL },
	{ "exit_code", "integer", NULL },
	{ "signal", "integer", NULL },
	{ "stdout_bytes", "integer", NULL },
	{ "stderr_bytes", "integer", NULL },
	{ "truncated", "boolean", NULL },
	{ "duration_ms", "number", NULL },
	{ "cpu_ms", "number", NULL },
	{ "peak_memory_bytes", "integer", NULL },
	{ "layers", "array", NULL },
	{ "degraded", "array", NULL },
	{ "limits_hit", "array", NULL },
	{ "denials", "array", NULL },
	{ "changes", "object", NULL },
	{ "driver", "string", NULL },
	END_FIELDS,
};

const struct tool show_tool = {
	.name = "run_show",
	.title = "Look at one run",
	.description = "The result of one run, without its output.",
	.verb = "show",
	.args = run_args,
	.fields = show_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_field logs_fields[] = { { "pieces", "array", NULL }, END_FIELDS };

const struct tool logs_tool = {
	.name = "logs",
	.title = "The kept output of a run",
	.description = "Both streams of a run in the order they were written.",
	.verb = "logs",
	.args = run_args,
	.fields = logs_fields,
	.list = "pieces",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_arg no_args[] = { END_ARGS };
static const struct tool_field no_fields[] = { END_FIELDS };

static const struct tool policy_tool = {
	.name = "policy",
	.verb = "plan",
	.args = no_args,
	.fields = no_fields,
	.flags = TOOL_EXAMPLE,
};

static const struct tool artifacts_tool = {
	.name = "artifacts",
	.verb = "artifact",
	.word = "ls",
	.args = no_args,
	.fields = no_fields,
	.list = "artifacts",
};

static const struct tool_arg artifact_args[] = {
	{ .name = "artifact_id", .to = TOOL_TO_WORD, .required = true, .help = "which one" },
	{ .name = "path", .to = TOOL_TO_WORD, .help = "of a directory: which file in it" },
	END_ARGS,
};

static const struct tool artifact_tool = {
	.name = "artifact",
	.verb = "artifact",
	.word = "show",
	.args = artifact_args,
	.fields = no_fields,
};

static const struct tool_arg lines_args[] = { ARG_SANDBOX, END_ARGS };

/* How many lines of each file came and went: for the dialogue that asks a person. */
static const struct tool lines_tool = {
	.name = "lines",
	.verb = "diff",
	.set = "stat",
	.args = lines_args,
	.fields = no_fields,
	.list = "files",
};

const struct tool *const unlisted_tools[] = { &lines_tool, &policy_tool, &artifacts_tool,
					      &artifact_tool, NULL };
