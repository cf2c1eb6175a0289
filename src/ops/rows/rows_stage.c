/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that carry a change on: stages, kept outputs, commits, other machines. */
#include "ops/rows/rows.h"

#define GROUP "Carry it on"

/* In aisbx-full only: see table.c. */
#pragma weak op_stage_run
#pragma weak op_artifact_run
#pragma weak op_repo_run
#pragma weak op_push_run
#pragma weak op_pull_run
#pragma weak op_conflicts_run
#pragma weak op_key_run

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

static const struct op_param push_params[] = {
	{ .name = "as",
	  .metavar = "NAME",
	  .help = "its name at the remote; default: as it was exchanged last, else its own" },
	{ .name = "serve",
	  .metavar = "DIR",
	  .help = "instead: be the other side of ssh, for the remote DIR and nothing else" },
	{ .name = NULL },
};

const struct op push_row = {
	.name = "push",
	.usage = "NAME REMOTE | --serve DIR",
	.summary = "leave what a sandbox changed at a remote, signed, for other machines",
	.group = GROUP,
	.words = OP_SANDBOXES ";:files",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = push_params,
	.help = "REMOTE is file:/DIR (made where it is missing) or\n"
		"ssh://[USER@]HOST[:PORT]/DIR, by your own ssh; aisbx must be in the PATH\n"
		"there. Contents go once, by digest; the list of changes is signed with your\n"
		"key (aisbx key). A push follows the one that the sandbox has seen: where\n"
		"another came in between, it is refused (exit 3): pull --onto first. Killed\n"
		"at any instant, it is there whole or not at all. What holds a secret, and\n"
		"setuid files, are refused; mounts, devices and sockets are left out.\n"
		"\n"
		"Examples:\n"
		"  aisbx push fix-1 file:/mnt/share/aisbx\n"
		"  aisbx push fix-1 ssh://build.example.org/srv/aisbx\n",
	.run = op_push_run,
};

static const struct op_param pull_params[] = {
	{ .name = "as", .metavar = "NEW", .help = "the sandbox that is made; default: NAME" },
	{ .name = "onto",
	  .metavar = "SANDBOX",
	  .help = "with this one's changes, too: NEW has both; SANDBOX stays as it is" },
	{ .name = "strategy",
	  .letter = 's',
	  .metavar = "WORD",
	  .help = "for what this side changed too: merge (the default), ours (this side's), "
		  "theirs (the remote's), lww (what was pushed last)",
	  .choices = "merge|ours|theirs|lww" },
	{ .name = "allow-links",
	  .kind = PARAM_SWITCH,
	  .help = "also links that lead out of the workspace" },
	{ .name = "profile", .metavar = "NAME|FILE", .help = "of the new sandbox, as for create" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "of the new sandbox" },
	{ .name = NULL },
};

const struct op pull_row = {
	.name = "pull",
	.usage = "REMOTE [NAME] [--as NEW] [--onto SANDBOX] [flags]",
	.summary = "take what was pushed into a new sandbox here, merged three-way",
	.group = GROUP,
	.words = ":files;",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = pull_params,
	.help = "Signature, digests, names and sizes are verified before anything is\n"
		"unpacked; keys are trusted by aisbx key trust. Always a new sandbox is\n"
		"made, over the workspace or, with --onto, over another sandbox; neither is\n"
		"changed. What cannot be merged stops it (exit 3): aisbx conflicts lists it,\n"
		"a person resolves it, and the next pull goes through. lww takes what was\n"
		"pushed last by the remote's order. promote is what applies a sandbox.\n"
		"\n"
		"Examples:\n"
		"  aisbx pull file:/mnt/share/aisbx fix-1\n"
		"  aisbx pull ssh://build.example.org/srv/aisbx fix-1 --onto fix-1 --as fix-2\n",
	.run = op_pull_run,
};

static const struct op_param conflicts_params[] = {
	{ .name = "ours", .kind = PARAM_SWITCH, .help = "resolve, show: this side's" },
	{ .name = "theirs", .kind = PARAM_SWITCH, .help = "resolve, show: the remote's" },
	{ .name = "base", .kind = PARAM_SWITCH, .help = "show: what both started from" },
	{ .name = NULL },
};

static const struct op_column conflicts_columns[] = {
	{ "id", "ID" },	    { "sandbox", "SANDBOX" },	    { "path", "PATH" },
	{ "what", "WHAT" }, { "resolution", "RESOLUTION" }, { NULL, NULL },
};

const struct op conflicts_row = {
	.name = "conflicts",
	.usage = "[ls] | show ID --ours|--theirs|--base | resolve ID --ours|--theirs|FILE",
	.summary = "list and resolve what a pull could not merge",
	.group = GROUP,
	.words = "ls|show|resolve;;:files",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = conflicts_params,
	.columns = conflicts_columns,
	.help = "A path that two machines changed in ways that do not merge. show prints one\n"
		"side, resolve decides: this side's, the remote's, or the content of FILE. An\n"
		"answer holds for exactly these versions; pull again to apply it.\n"
		"\n"
		"Examples:\n"
		"  aisbx conflicts\n"
		"  aisbx conflicts show 3f2a91c0aa01b2c3 --theirs\n"
		"  aisbx conflicts resolve 3f2a91c0aa01b2c3 --ours\n",
	.run = op_conflicts_run,
};

const struct op key_row = {
	.name = "key",
	.usage = "[show] | trust KEY | distrust KEY",
	.summary = "print your public key; trust that of another machine",
	.group = GROUP,
	.words = "show|trust|distrust",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.help = "sign and push use your key (~/.config/aisbx/signing.key, made at its first\n"
		"use). pull and run --require-signature take what it signed, or a key in\n"
		"~/.config/aisbx/trusted-keys, which trust adds to and distrust takes from.\n"
		"\n"
		"Examples:\n"
		"  aisbx key\n"
		"  aisbx key trust \"$(ssh build.example.org aisbx key)\"\n",
	.run = op_key_run,
};
