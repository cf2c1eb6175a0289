/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that save, rewind, branch and compare. */
#include "ops/tools/tool_rows.h"

static const struct tool_arg snapshot_args[] = {
	ARG_SANDBOX,
	{ .name = "snapshot",
	  .to = TOOL_TO_FLAG,
	  .target = "name",
	  .help = "call it that; default: the next of s1, s2, ..." },
	{ .name = "message", .help = "a word on what this is" },
	{ .name = "freeze",
	  .type = TOOL_BOOL,
	  .help = "freeze processes that are alive meanwhile" },
	ARG_KILL,
	END_ARGS,
};

static const struct tool_field snapshot_fields[] = {
	{ "name", "string", "for rollback and fork" },
	{ "parent", "string", NULL },
	END_FIELDS,
};

const struct tool sandbox_snapshot_tool = {
	.name = "sandbox_snapshot",
	.title = "Save the present of a sandbox",
	.description =
		"Saves the present of a sandbox, to come back to with sandbox_rollback; cheap.",
	.verb = "snap",
	.args = snapshot_args,
	.fields = snapshot_fields,
	.flags = TOOL_CORE,
};

static const struct tool_arg sandbox_args[] = { ARG_SANDBOX, END_ARGS };
static const struct tool_field snapshots_fields[] = { { "snapshots", "array", NULL }, END_FIELDS };

const struct tool sandbox_snapshots_tool = {
	.name = "sandbox_snapshots",
	.title = "List the snapshots of a sandbox",
	.description = "Lists the snapshots of a sandbox, oldest first.",
	.verb = "snaps",
	.args = sandbox_args,
	.fields = snapshots_fields,
	.list = "snapshots",
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_arg rollback_args[] = {
	ARG_SANDBOX,
	{ .name = "snapshot", .to = TOOL_TO_WORD, .help = "which one; default: the last one made" },
	ARG_KILL,
	END_ARGS,
};

static const struct tool_field rollback_fields[] = {
	{ "snapshot", "string", "where it stands now" },
	{ "saved", "string", "the snapshot that keeps what was there" },
	END_FIELDS,
};

const struct tool sandbox_rollback_tool = {
	.name = "sandbox_rollback",
	.title = "Take a sandbox back to a snapshot",
	.description = "Takes a sandbox back to a snapshot. What it held is saved as an automatic "
		       "snapshot first, so this can itself be undone.",
	.verb = "rollback",
	.args = rollback_args,
	.fields = rollback_fields,
	.flags = TOOL_CORE,
};

static const struct tool_arg fork_args[] = {
	ARG_SANDBOX,
	{ .name = "snapshot",
	  .to = TOOL_TO_SNAPSHOT,
	  .help = "start from that one, not from the present" },
	{ .name = "new_name",
	  .to = TOOL_TO_NEW,
	  .help = "name of the new sandbox; invented when left out" },
	{ .name = "ttl", .help = "removed after this time; default 24h" },
	{ .name = "freeze",
	  .type = TOOL_BOOL,
	  .help = "freeze processes that are alive meanwhile" },
	ARG_KILL,
	END_ARGS,
};

static const struct tool_field fork_fields[] = {
	{ "name", "string", "the new sandbox" },
	{ "from", "string", NULL },
	{ "snapshot", "string", NULL },
	END_FIELDS,
};

const struct tool sandbox_fork_tool = {
	.name = "sandbox_fork",
	.title = "Branch a sandbox",
	.description =
		"Starts a second sandbox where one is, or was at a snapshot. Both go their own "
		"ways; neither costs a copy.",
	.verb = "fork",
	.args = fork_args,
	.fields = fork_fields,
};

static const struct tool_arg diff_args[] = {
	ARG_SANDBOX,
	{ .name = "range",
	  .to = TOOL_TO_WORD,
	  .help = "A..B of snapshots; default: the host and the present" },
	END_ARGS,
};

static const struct tool_field diff_fields[] = {
	{ "files", "array", "op, path, added, removed, asks" },
	{ "patch", "string", NULL },
	{ "truncated", "boolean", "there is more in the resource diff" },
	{ "diff", NULL, NULL },
	END_FIELDS,
};

const struct tool sandbox_diff_tool = {
	.name = "sandbox_diff",
	.title = "Show what a sandbox changed",
	.description = "What a sandbox changed: each file with its lines, and a unified diff.",
	.verb = "diff",
	.set = "stat",
	.args = diff_args,
	.fields = diff_fields,
	.list = "files",
	.flags = TOOL_CORE | TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_field status_fields[] = {
	{ "sandbox", "string", NULL },	  { "stale", "integer", NULL },
	{ "drift", "integer", NULL },	  { "files", "array", NULL },
	{ "base_taken", "string", NULL }, END_FIELDS,
};

const struct tool sandbox_status_tool = {
	.name = "sandbox_status",
	.title = "How far a sandbox is behind the host",
	.description =
		"Which files that the sandbox changed were changed on the host too, and how many "
		"others moved since.",
	.verb = "status",
	.args = sandbox_args,
	.fields = status_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_TOLD,
};

static const struct tool_arg refresh_args[] = { ARG_SANDBOX, ARG_KILL, END_ARGS };

static const struct tool_field refresh_fields[] = {
	{ "sandbox", "string", NULL },
	{ "base_taken", "string", NULL },
	END_FIELDS,
};

const struct tool refresh_tool = {
	.name = "refresh",
	.title = "Take today's host as the base",
	.description =
		"What the sandbox changed stays on top; everything else is as the host is now.",
	.verb = "refresh",
	.args = refresh_args,
	.fields = refresh_fields,
};
