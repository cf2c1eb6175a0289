/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that try several ways, judge them, carry a change on, and look back. */
#include "ops/tools/tool_rows.h"

static const struct tool_arg race_args[] = {
	{ .name = "attempts",
	  .type = TOOL_ATTEMPTS,
	  .target = "attempt",
	  .required = true,
	  .help = "ways to try, each in a sandbox of its own" },
	{ .name = "check", .help = "command that an attempt must pass, for sh -c" },
	{ .name = "prefer",
	  .help = "order among those who pass: score, small, fast, memory; default "
		  "score,small,fast" },
	{ .name = "first", .type = TOOL_BOOL, .help = "end the others as soon as one passes" },
	{ .name = "sandbox",
	  .to = TOOL_TO_SANDBOX,
	  .target = "base",
	  .help = "start every attempt from this sandbox; default: the workspace" },
	ARG_TIME,
	ARG_LIMITS,
	ARG_ENV,
	ARG_TRACE,
	END_ARGS,
};

static const struct tool_field race_fields[] = {
	{ "race_id", "string", NULL },
	{ "winner", "string", "null when no attempt passed" },
	{ "attempts", "array", "each with its sandbox, status, check, score" },
	{ "promotion_id", "string", NULL },
	END_FIELDS,
};

const struct tool race_tool = {
	.name = "race",
	.title = "Try several ways at once",
	.description = "Runs several attempts in parallel sandboxes, checks each in a throw-away "
		       "copy, and "
		       "names the best. Their sandboxes stay for a day: diff or promote_request "
		       "the winner's.",
	.verb = "race",
	.args = race_args,
	.fields = race_fields,
};

static const struct tool_arg gate_args[] = {
	ARG_SANDBOX,
	{ .name = "gates",
	  .type = TOOL_TEXTS,
	  .to = TOOL_TO_WORD,
	  .help = "conditions: tests==pass, no-network-violations, no-secrets, cmd:COMMAND, "
		  "diff.files<=20, "
		  "..." },
	END_ARGS,
};

static const struct tool_field gate_fields[] = {
	{ "verdict", "string", "pass or fail" },
	{ "gates", "array", "expr, holds, evidence" },
	END_FIELDS,
};

const struct tool gate_check_tool = {
	.name = "gate_check",
	.title = "Check conditions on a sandbox",
	.description = "Checks whether conditions hold for a sandbox's last run and changes. "
		       "Commands run in "
		       "a throw-away copy of it.",
	.verb = "gate",
	.word = "check",
	.args = gate_args,
	.fields = gate_fields,
	.flags = TOOL_READ_ONLY | TOOL_SAID,
};

static const struct tool_arg task_args[] = {
	{ .name = "intent",
	  .choices = "run|test|build|format|lint|bench",
	  .help = "what the project's own files say; instead of command and script" },
	{ .name = "command",
	  .type = TOOL_COMMAND,
	  .help = "a list: program and arguments; a string: for sh -c" },
	{ .name = "script", .help = "one string for sh -c" },
	{ .name = "tests",
	  .type = TOOL_TEXTS,
	  .help = "commands that must succeed afterwards, for sh -c" },
	{ .name = "gates", .type = TOOL_TEXTS, .help = "conditions, as for gate_check" },
	ARG_TIME,
	ARG_LIMITS,
	ARG_ENV,
	{ .name = "trace_id", .help = "a name of yours" },
	END_ARGS,
};

static const struct tool_field task_fields[] = {
	{ "task_id", "string", NULL },
	{ "sandbox", "string", "it stays for a day" },
	{ "verdict", "string", "pass or fail" },
	{ "run", "object", NULL },
	{ "tests", "array", NULL },
	{ "gates", "array", NULL },
	END_FIELDS,
};

const struct tool task_tool = {
	.name = "task",
	.title = "Run a task: command, tests, gates",
	.description = "Runs a command (or what the project says for an intent) in a fresh "
		       "sandbox, then its "
		       "tests, then checks conditions; one verdict.",
	.verb = "task",
	.args = task_args,
	.fields = task_fields,
	.flags = TOOL_WHOLE,
};

static const struct tool_arg guard_args[] = { ARG_COMMAND, ARG_SCRIPT, END_ARGS };

static const struct tool_field guard_fields[] = {
	{ "decision", "string", "direct, sandbox, ask or deny" },
	{ "risk", "string", NULL },
	{ "reasons", "array", NULL },
	END_FIELDS,
};

const struct tool guard_tool = {
	.name = "guard",
	.title = "Should this command run, and where",
	.description = "Decides whether a command only reads and may run directly, belongs in a "
		       "sandbox, needs "
		       "a person's word, or should not run at all. It only decides.",
	.verb = "guard",
	.args = guard_args,
	.fields = guard_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_SAID,
};

static const struct tool_arg scan_args[] = {
	{ .name = "path",
	  .to = TOOL_TO_FILE,
	  .help = "file or directory of the workspace, as it really is" },
	{ .name = "content", .help = "instead of path: source text" },
	{ .name = "lang",
	  .choices = "python|javascript|shell",
	  .help = "default: told from name and first line" },
	END_ARGS,
};

static const struct tool_field scan_fields[] = {
	{ "risk", "string", "none, low, medium, high or critical" },
	{ "analysable", "boolean", "false: it could not be read, which is never clean" },
	{ "findings", "array", "file, line, column, rule, severity, message, hint" },
	END_FIELDS,
};

const struct tool scan_tool = {
	.name = "scan",
	.title = "Look at source code before it runs",
	.description = "What source code would do, by the user's policy: run programs, use the "
		       "network, delete, read "
		       "credentials, hide. Nothing is run.",
	.verb = "scan",
	.args = scan_args,
	.fields = scan_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_SAID,
};

static const struct tool_arg artifact_args[] = {
	ARG_SANDBOX,
	{ .name = "paths",
	  .type = TOOL_TEXTS,
	  .to = TOOL_TO_WORD,
	  .required = true,
	  .help = "files or directories of the sandbox to keep" },
	END_ARGS,
};

static const struct tool_field artifact_fields[] = { { "artifacts", "array", NULL }, END_FIELDS };

const struct tool artifact_save_tool = {
	.name = "artifact_save",
	.title = "Keep build outputs",
	.description = "Keeps files of a sandbox with their metadata, beyond the sandbox's end.",
	.verb = "artifact",
	.word = "save",
	.args = artifact_args,
	.fields = artifact_fields,
	.list = "artifacts",
};

/* What tools that change the real files answer with as well: whether the user was asked, and the answer. */
#define ASKED_FIELDS                                                                        \
	{ "request_id", "string", "of the question, where a person has to agree first" },   \
		{ "state", "string", "of the question: pending, approved or rejected" },    \
		{ "note", "string", "why it went no further" }, { "paths", "array", NULL }, \
	{                                                                                   \
		"promotion_id", "string", NULL                                              \
	}

static const struct tool_arg commit_args[] = {
	ARG_SANDBOX,
	{ .name = "message", .required = true, .help = "of the commit" },
	END_ARGS,
};

static const struct tool_field commit_fields[] = {
	{ "commit", "string", NULL },
	{ "branch", "string", NULL },
	{ "skipped", "array", NULL },
	ASKED_FIELDS,
	END_FIELDS,
};

static const struct tool_arg commit_ask_args[] = {
	ARG_SANDBOX,
	{ .name = "message", .target = "commit", .required = true, .help = "of the commit" },
	END_ARGS,
};

static const struct tool commit_asking = {
	.name = "repo_commit",
	.verb = "promotions",
	.word = "request",
	.args = commit_ask_args,
	.fields = commit_fields,
	.flags = TOOL_ASKS,
};

const struct tool repo_commit_tool = {
	.name = "repo_commit",
	.title = "Commit a promoted change",
	.description = "Makes a git commit of what was promoted from a sandbox. Nothing the "
		       "sandbox wrote is "
		       "run: no hooks, no filters. A person may have to agree: then state is "
		       "pending until that happened.",
	.verb = "repo",
	.word = "commit",
	.args = commit_args,
	.fields = commit_fields,
	.flags = TOOL_PROMOTES,
	.asking = &commit_asking,
};

static const struct tool_arg request_args[] = {
	ARG_SANDBOX,
	{ .name = "paths",
	  .type = TOOL_TEXTS,
	  .to = TOOL_TO_WORD,
	  .help = "only these; default: all it changed" },
	{ .name = "strategy",
	  .choices = "fail|merge|ours|theirs|lww|merge+ours|merge+theirs",
	  .help = "for what the host changed too; default fail" },
	ARG_IGNORED,
	ARG_COMMITS,
	{ .name = "reason", .help = "why, for the person who decides" },
	END_ARGS,
};

static const struct tool_field request_fields[] = {
	{ "request_id", "string", NULL },
	{ "state", "string", "pending, approved or rejected" },
	{ "files", "integer", NULL },
	{ "paths", "array", NULL },
	{ "triggers", "array", "what could make something run: path, why" },
	{ "promotion_id", "string", "once it is applied" },
	{ "conflicts", "array", NULL },
	END_FIELDS,
};

const struct tool promote_request_tool = {
	.name = "promote_request",
	.title = "Ask to apply a sandbox's changes to the real files",
	.description = "Asks for what a sandbox changed to be applied to the real files. A person "
		       "may have to agree: then state is pending until that happened.",
	.verb = "promotions",
	.word = "request",
	.args = request_args,
	.fields = request_fields,
	.flags = TOOL_CORE | TOOL_DESTRUCTIVE | TOOL_ASKS,
};

static const struct tool_arg none[] = { END_ARGS };
static const struct tool_field promotion_fields[] = { { "promotions", "array", NULL }, END_FIELDS };

const struct tool promotion_list_tool = {
	.name = "promotion_list",
	.title = "What was promoted and what was asked for",
	.description = "Promotions and requests of this server, newest first, each with its state.",
	.verb = "promotions",
	.args = none,
	.fields = promotion_fields,
	.list = "promotions",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
};

static const struct tool_arg decide_args[] = {
	{ .name = "request_id", .to = TOOL_TO_WORD, .required = true, .help = "which one" },
	END_ARGS,
};

const struct tool tool_approve = {
	.name = "approve",
	.verb = "promotions",
	.word = "approve",
	.set = "yes",
	.args = decide_args,
	.fields = request_fields,
};

const struct tool tool_reject = {
	.name = "reject",
	.verb = "promotions",
	.word = "reject",
	.args = decide_args,
	.fields = request_fields,
};

static const struct tool_arg stage_args[] = {
	ARG_SANDBOX,
	{ .name = "to", .help = "go no further than this stage" },
	ARG_IGNORED,
	END_ARGS,
};

static const struct tool_field stage_fields[] = {
	{ "bundle", "string", NULL },
	{ "sandbox", "string", NULL },
	{ "outcome", "string", "live, refused or rolled-back" },
	{ "stages", "array", NULL },
	ASKED_FIELDS,
	END_FIELDS,
};

static const struct tool stage_asking = {
	.name = "stage_run",
	.verb = "promotions",
	.word = "request",
	.set = "stages",
	.args = stage_args,
	.fields = stage_fields,
	.flags = TOOL_ASKS,
};

const struct tool stage_run_tool = {
	.name = "stage_run",
	.title = "Carry a change through the stages",
	.description = "Applies what a sandbox changed to one directory after another, as the "
		       "user's pipeline "
		       "says, checked at each. A person may have to agree: then state is pending "
		       "until that happened.",
	.verb = "stage",
	.word = "run",
	.args = stage_args,
	.fields = stage_fields,
	.flags = TOOL_DESTRUCTIVE | TOOL_PROMOTES,
	.asking = &stage_asking,
};

static const struct tool_arg status_args[] = {
	{ .name = "bundle", .to = TOOL_TO_WORD, .help = "which one; default: all" },
	END_ARGS,
};

static const struct tool_field status_fields[] = { { "bundles", "array", NULL }, END_FIELDS };

const struct tool stage_status_tool = {
	.name = "stage_status",
	.title = "How far changes have come",
	.description = "Which bundle is in which stage, and what it waits for.",
	.verb = "stage",
	.word = "status",
	.args = status_args,
	.fields = status_fields,
	.list = "bundles",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT,
};
