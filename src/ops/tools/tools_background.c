/* SPDX-License-Identifier: Apache-2.0 */
/* Tools for commands that go on by themselves, and for the list of steps. */
#include "ops/tools/tool_rows.h"

#define ARG_EXEC                                                         \
	{                                                                \
		.name = "exec_id", .to = TOOL_TO_EXEC, .required = true, \
		.help = "what sandbox_exec_start gave"                   \
	}
#define ARG_OFFSET                                                            \
	{                                                                     \
		.name = "offset", .type = TOOL_INT,                           \
		.help = "bytes of stdout known already; default 0: all of it" \
	}
#define ARG_ERR_OFFSET                                                                \
	{                                                                             \
		.name = "stderr_offset", .type = TOOL_INT, .target = "stderr-offset", \
		.help = "the same for stderr"                                         \
	}
#define ARG_WAIT                                                                       \
	{                                                                              \
		.name = "wait_ms", .type = TOOL_INT, .target = "wait", .suffix = "ms", \
		.help = "wait for more output or the end, at most so long and 60000"   \
	}

static const struct tool_arg start_args[] = {
	ARG_SANDBOX, ARG_COMMAND, ARG_SCRIPT, ARG_CWD,	ARG_ENV,
	ARG_TIME,    ARG_OUTPUT,  ARG_TRACE,  END_ARGS,
};

static const struct tool_field start_fields[] = {
	{ "exec_id", "string", "for sandbox_poll, sandbox_write_stdin, sandbox_kill" },
	{ "sandbox", "string", NULL },
	{ "started", "string", NULL },
	END_FIELDS,
};

const struct tool exec_start_tool = {
	.name = "sandbox_exec_start",
	.title = "Start a command in the background",
	.description =
		"Starts a command in a sandbox and answers at once with its exec_id: for servers, "
		"watchers, "
		"long builds. It goes on when this connection ends. Look at it with sandbox_poll.",
	.verb = "exec",
	.set = "detach",
	.args = start_args,
	.fields = start_fields,
};

static const struct tool_field poll_fields[] = {
	{ "exec_id", "string", NULL },
	{ "sandbox", "string", NULL },
	{ "state", "string", "running or done" },
	{ "stdout", "string", "since offset" },
	{ "stderr", "string", "since stderr_offset" },
	{ "stdout_offset", "integer", "give this as offset the next time" },
	{ "stderr_offset", "integer", NULL },
	{ "more", "boolean", "polling again at once brings more" },
	{ "input_bytes", "integer", NULL },
	{ "result", "object", "of the run, once it has ended" },
	END_FIELDS,
};

static const struct tool_arg poll_args[] = {
	ARG_EXEC, ARG_OFFSET, ARG_ERR_OFFSET, ARG_WAIT, END_ARGS,
};

const struct tool poll_tool = {
	.name = "sandbox_poll",
	.title = "Look at a command in the background",
	.description = "What a command in the background wrote since the offsets, and whether it "
		       "still runs.",
	.verb = "poll",
	.args = poll_args,
	.fields = poll_fields,
	.flags = TOOL_READ_ONLY,
};

static const struct tool_arg write_args[] = {
	ARG_EXEC,
	{ .name = "content", .target = "input", .help = "text for its standard input" },
	{ .name = "end",
	  .type = TOOL_BOOL,
	  .target = "input-end",
	  .help = "and end its standard input" },
	ARG_OFFSET,
	ARG_ERR_OFFSET,
	ARG_WAIT,
	END_ARGS,
};

const struct tool write_stdin_tool = {
	.name = "sandbox_write_stdin",
	.title = "Write to a command in the background",
	.description = "Writes to the standard input of a command in the background, then answers "
		       "as sandbox_poll.",
	.verb = "poll",
	.args = write_args,
	.fields = poll_fields,
};

static const struct tool_arg kill_args[] = {
	ARG_EXEC,
	{ .name = "signal",
	  .absent = "end",
	  .help = "TERM, INT, HUP, QUIT, USR1, USR2, STOP, CONT, or KILL, which ends all it "
		  "started; default: TERM, after 2 s KILL" },
	ARG_OFFSET,
	ARG_ERR_OFFSET,
	ARG_WAIT,
	END_ARGS,
};

const struct tool kill_tool = {
	.name = "sandbox_kill",
	.title = "End or signal a command in the background",
	.description = "Ends a command in the background, or sends it a signal, then answers as "
		       "sandbox_poll.",
	.verb = "poll",
	.args = kill_args,
	.fields = poll_fields,
	.flags = TOOL_DESTRUCTIVE,
};

static const struct tool_arg plan_args[] = {
	ARG_SANDBOX,
	{ .name = "steps",
	  .type = TOOL_TEXTS,
	  .to = TOOL_TO_WORD,
	  .required = true,
	  .help = "the list, in order; it replaces the one that is there" },
	END_ARGS,
};

static const struct tool_field plan_fields[] = {
	{ "sandbox", "string", NULL },
	{ "steps", "array", "n, text, done" },
	END_FIELDS,
};

const struct tool plan_create_tool = {
	.name = "plan_create",
	.title = "Keep a list of steps with a sandbox",
	.description = "Writes a to-do list of small steps, kept with the sandbox for all "
		       "who work in it.",
	.verb = "todo",
	.set = "set",
	.args = plan_args,
	.fields = plan_fields,
	.flags = TOOL_IDEMPOTENT,
};

static const struct tool_arg update_args[] = {
	ARG_SANDBOX,
	{ .name = "done", .type = TOOL_TEXTS, .help = "numbers of steps that are done" },
	{ .name = "undone",
	  .type = TOOL_TEXTS,
	  .help = "numbers of steps that are not, after all" },
	{ .name = "add", .type = TOOL_TEXTS, .help = "steps to add at the end" },
	END_ARGS,
};

const struct tool plan_update_tool = {
	.name = "plan_update",
	.title = "Tick off steps, or look at the list",
	.description = "Marks steps of a sandbox's list as done or not, adds some, and answers "
		       "with the list.",
	.verb = "todo",
	.args = update_args,
	.fields = plan_fields,
};
