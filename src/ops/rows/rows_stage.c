/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that carry a change on: stages, kept outputs, commits. */
#include "ops/rows/rows.h"

#define GROUP "Carry it on"

/* In aisbx-full only: see table.c. */
#pragma weak op_stage_run
#pragma weak op_artifact_run
#pragma weak op_repo_run

static const struct op_param stage_params[] = {
	{ .name = "file",
	  .letter = 'f',
	  .metavar = "FILE",
	  .help = "run: the pipeline; default: pipeline.yaml of the workspace, else yours" },
	{ .name = "to", .metavar = "STAGE", .help = "run: go no further than this stage" },
	{ .name = "ignored",
	  .kind = PARAM_SWITCH,
	  .help = "run: also what git ignores in the workspace" },
	{ .name = "commits",
	  .kind = PARAM_SWITCH,
	  .help = "run: to the stage that is the workspace itself, the commits of its branch, as "
		  "for promote; other stages get files" },
	{ .name = "allow-path",
	  .kind = PARAM_LIST,
	  .metavar = "PATH",
	  .help = "run: agree to a change that needs a word, as for promote; repeat it" },
	{ .name = NULL },
};

static const struct op_column stage_columns[] = {
	{ "bundle", "BUNDLE" },
	{ "sandbox", "SANDBOX" },
	{ "made", "MADE" },
	{ NULL, NULL },
};

const struct op stage_row = {
	.name = "stage",
	.usage = "run NAME [flags] | status [BUNDLE] | approve BUNDLE STAGE",
	.summary = "apply a change to one directory after another, checked at each",
	.group = GROUP,
	.words = "run|status|approve",
	.flags = OP_LIBRARIES,
	.params = stage_params,
	.columns = stage_columns,
	.help = "A pipeline names stages: a target directory each, conditions before and\n"
		"after, and what comes first. run seals what a sandbox changed as a bundle,\n"
		"then for each stage: checks a clone of the target with the bundle on it,\n"
		"applies, checks the target as it is then. What fails after that is taken\n"
		"back, and later stages are not touched. A killed run goes on where it was.\n"
		"A stage takes only the bundle that is live in the one before it.\n"
		"\n"
		"A pipeline that lies in the workspace must be trusted (aisbx profile trust).\n"
		"Exit: 0 live, 1 rolled back, 3 conflict, 4 refused or waiting for approval.\n"
		"\n"
		"Examples:\n"
		"  aisbx stage run fix-1 -f pipeline.yaml --to staging\n"
		"  aisbx stage status\n"
		"  aisbx stage approve 3f2a91c0 production\n",
	.run = op_stage_run,
};

static const struct op_param artifact_params[] = {
	{ .name = "max",
	  .metavar = "SIZE",
	  .help = "save: room for all that is kept, default 10g" },
	{ .name = "force", .kind = PARAM_SWITCH, .help = "get: replace what is there already" },
	{ .name = "allow-path",
	  .kind = PARAM_LIST,
	  .metavar = "PATH",
	  .help = "get: agree to this file, as for promote" },
	{ .name = "allow-privilege",
	  .kind = PARAM_SWITCH,
	  .help = "get: agree to privileges, as for promote" },
	{ .name = "allow-special",
	  .kind = PARAM_SWITCH,
	  .help = "get: agree to fifos and device nodes, as for promote" },
	{ .name = NULL },
};

static const struct op_column artifact_columns[] = {
	{ "artifact_id", "ID" },  { "time", "SAVED" }, { "size", "BYTES" },
	{ "sandbox", "SANDBOX" }, { "path", "PATH" },  { NULL, NULL },
};

const struct op artifact_row = {
	.name = "artifact",
	.usage = "save NAME PATH... | ls | show ID [IN] | get ID DST | rm ID",
	.summary = "keep build outputs of a sandbox, and get them back",
	.group = GROUP,
	.words = "save|ls|show|get|rm;@artifacts|@sandboxes|:files",
	.flags = OP_LIBRARIES,
	.params = artifact_params,
	.columns = artifact_columns,
	.help = "save keeps files as the sandbox has them now, or all it made in a directory,\n"
		"with size, permissions, sha256, the sandbox and its last run. They outlive the\n"
		"sandbox. Up to 4,096 artifacts and 10 GiB are kept (--max), and as much for\n"
		"each owner of an MCP server; beyond that save refuses. show prints a file (up\n"
		"to 4 MiB), or what a directory has; IN is a path in it. get writes one to a\n"
		"file or into a directory, checks its sha256, and leaves alone what is there\n"
		"unless --force; it is a promotion, which asks about what could make something\n"
		"run, and can be undone. rm forgets one; gc frees its room.\n"
		"\n"
		"Examples:\n"
		"  aisbx artifact save build-1 dist/app.tar.gz\n"
		"  aisbx artifact ls\n"
		"  aisbx artifact get 01M7F73D .\n",
	.run = op_artifact_run,
};

static const struct op_param repo_params[] = {
	{ .name = "message", .letter = 'm', .metavar = "TEXT", .help = "of the commit" },
	{ .name = NULL },
};

const struct op repo_row = {
	.name = "repo",
	.usage = "commit NAME -m TEXT",
	.summary = "land a promoted change as a git commit",
	.group = GROUP,
	.words = "commit",
	.flags = OP_LIBRARIES,
	.params = repo_params,
	.help = "Commits exactly the paths of the sandbox's newest promotion that is live, with\n"
		"the contents they have now, on the branch that is checked out. The author is\n"
		"yours (git config), the message ends with the ids of promotion and run. What\n"
		"is staged of other paths stays staged. Nothing the repository brings is run:\n"
		"no hook, no filter, no fsmonitor.\n"
		"\n"
		"Examples:\n"
		"  aisbx promote fix-1 && aisbx repo commit fix-1 -m 'Fix the mean'\n",
	.run = op_repo_run,
};
