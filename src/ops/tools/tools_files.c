/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that read and write files of a sandbox. */
#include "ops/tools/tool_rows.h"

#define ARG_PATH                                                        \
	{                                                               \
		.name = "path", .to = TOOL_TO_WORD, .required = true,   \
		.help = "absolute inside, or relative to the workspace" \
	}
#define ARG_ENCODING                                            \
	{                                                       \
		.name = "encoding", .choices = "utf-8|base64",  \
		.help = "how content is written; default utf-8" \
	}

static const struct tool_arg read_args[] = {
	ARG_SANDBOX,
	ARG_PATH,
	{ .name = "offset", .type = TOOL_INT, .help = "first byte; default 0" },
	{ .name = "limit",
	  .type = TOOL_INT,
	  .help = "bytes at most; default 65536, at most 1048576" },
	ARG_ENCODING,
	END_ARGS,
};

static const struct tool_field read_fields[] = {
	{ "content", "string", NULL },
	{ "encoding", "string", "base64 where it is no text" },
	{ "size", "integer", NULL },
	{ "truncated", "boolean", "there is more behind it" },
	END_FIELDS,
};

const struct tool files_read_tool = {
	.name = "sandbox_files_read",
	.title = "Read a file of a sandbox",
	.description = "Reads a file of a sandbox, or a part of it.",
	.verb = "files",
	.word = "read",
	.args = read_args,
	.fields = read_fields,
	.flags = TOOL_CORE | TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_SAID,
};

static const struct tool_arg write_args[] = {
	ARG_SANDBOX,
	ARG_PATH,
	{ .name = "content",
	  .to = TOOL_TO_INPUT,
	  .required = true,
	  .help = "what the file will hold" },
	ARG_ENCODING,
	END_ARGS,
};

static const struct tool_field write_fields[] = {
	{ "path", "string", NULL },
	{ "replaced", "integer", NULL },
	END_FIELDS,
};

const struct tool files_write_tool = {
	.name = "sandbox_files_write",
	.title = "Write a file of a sandbox",
	.description =
		"Writes a file of a sandbox, making directories on the way. The real files stay "
		"as they are.",
	.verb = "files",
	.word = "write",
	.args = write_args,
	.fields = write_fields,
	.flags = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT | TOOL_SAID,
};

static const struct tool_arg edit_args[] = {
	ARG_SANDBOX,
	ARG_PATH,
	{ .name = "old", .required = true, .help = "text that is there, exactly" },
	{ .name = "new", .help = "text in its place; nothing when left out" },
	{ .name = "all", .type = TOOL_BOOL, .help = "replace every occurrence" },
	END_ARGS,
};

const struct tool files_edit_tool = {
	.name = "sandbox_files_edit",
	.title = "Replace text in a file of a sandbox",
	.description =
		"Replaces one text by another in a file of a sandbox. The text must be there once, "
		"unless all is true.",
	.verb = "files",
	.word = "edit",
	.args = edit_args,
	.fields = write_fields,
	.flags = TOOL_CORE | TOOL_DESTRUCTIVE | TOOL_SAID,
};

static const struct tool_arg list_args[] = {
	ARG_SANDBOX,
	{ .name = "path", .to = TOOL_TO_WORD, .help = "directory; default: the workspace" },
	END_ARGS,
};

static const struct tool_field list_fields[] = {
	{ "sandbox", "string", NULL },
	{ "path", "string", NULL },
	{ "entries", "array", "name, type, size, mode" },
	{ "truncated", "boolean", NULL },
	END_FIELDS,
};

const struct tool files_list_tool = {
	.name = "sandbox_files_list",
	.title = "List a directory of a sandbox",
	.description = "Lists a directory of a sandbox: name, type, size, mode.",
	.verb = "files",
	.word = "ls",
	.args = list_args,
	.fields = list_fields,
	.flags = TOOL_READ_ONLY | TOOL_IDEMPOTENT | TOOL_SAID,
};
