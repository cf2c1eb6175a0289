/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that compare a sandbox with the host, and apply it there; and of try, which does both. */
#include "ops/rows/rows.h"

#define GROUP "Compare and apply"

/* In aisbx-full only: see table.c. */
#pragma weak op_promotions_run

static const struct op_param diff_params[] = {
	{ .name = "stat",
	  .kind = PARAM_SWITCH,
	  .help = "how many lines of each file; with --json as data" },
	{ .name = "all",
	  .kind = PARAM_SWITCH,
	  .help = "with --stat: list every file; more than 30 are folded by directory" },
	{ .name = "name-status",
	  .kind = PARAM_SWITCH,
	  .help = "git's letter, a tab, the path; promote takes it as printed" },
	{ .name = "nul",
	  .letter = 'z',
	  .kind = PARAM_SWITCH,
	  .help = "with --name-status: NUL in place of tab and newline, paths as they are" },
	{ .name = "patch",
	  .letter = 'p',
	  .kind = PARAM_SWITCH,
	  .help = "a unified diff (the default); git apply takes it" },
	{ .name = "path", .metavar = "PATH", .help = "only this one, as --name-status prints it" },
	{ .name = "exit-code",
	  .kind = PARAM_SWITCH,
	  .help = "exit 1 when something differs, as git does" },
	{ .name = "raw",
	  .kind = PARAM_SWITCH,
	  .help = "bytes as they are, also on a terminal: they may steer it" },
	{ .name = NULL },
};

static const struct op_param promote_params[] = {
	{ .name = "strategy",
	  .letter = 's',
	  .metavar = "WORD",
	  .help = "for what the host changed too: fail (the default), merge, ours (the host's), "
		  "theirs "
		  "(the sandbox's), merge+ours, merge+theirs, lww (the later one)",
	  .choices = "fail|merge|ours|theirs|lww|merge+ours|merge+theirs" },
	{ .name = "dry-run",
	  .letter = 'n',
	  .kind = PARAM_SWITCH,
	  .help = "say what would happen; change nothing" },
	{ .name = "allow-path",
	  .kind = PARAM_LIST,
	  .metavar = "PATH",
	  .help = "agree to this file although it can make something run; may be repeated" },
	{ .name = "allow-privilege",
	  .kind = PARAM_SWITCH,
	  .help = "agree to setuid, setgid and security attributes" },
	{ .name = "allow-special",
	  .kind = PARAM_SWITCH,
	  .help = "agree to fifos and device nodes" },
	{ .name = "all",
	  .kind = PARAM_SWITCH,
	  .help = "list every path; more than 30 are folded by directory" },
	{ .name = "ignored",
	  .kind = PARAM_SWITCH,
	  .help = "also what git ignores on the host; a path that is named is taken anyway" },
	{ .name = "snap", .metavar = "SNAP", .help = "promote that snapshot, not the present" },
	{ .name = "artifact",
	  .metavar = "SRC",
	  .help = "only this file or directory of the sandbox, to another place" },
	{ .name = "to",
	  .metavar = "DST",
	  .help = "where --artifact goes; ends in / for a directory" },
	{ .name = "target",
	  .metavar = "DIR",
	  .help = "apply to this directory instead of the workspace" },
	{ .name = "swap",
	  .kind = PARAM_SWITCH,
	  .help = "exchange the directory as a whole: readers see old or new, never a mix" },
	{ .name = "into-sandbox",
	  .kind = PARAM_SWITCH,
	  .help = "put merged files, with markers, into the sandbox to be resolved there" },
	{ .name = "approx-base",
	  .kind = PARAM_SWITCH,
	  .help = "where the version a change started from is lost, merge from what git had "
		  "before" },
	{ .name = "commits",
	  .kind = PARAM_SWITCH,
	  .help = "instead of files, the commits of its branch; HEAD and files of the host stay, "
		  "but in a linked worktree" },
	{ .name = "kill", .kind = PARAM_SWITCH, .help = "with processes alive: end them first" },
	{ .name = "gate",
	  .kind = PARAM_LIST,
	  .metavar = "EXPR",
	  .help = "only if this holds, as for gate check; those of the profile come first" },
	{ .name = NULL },
};

static const struct op_param try_params[] = {
	{ .name = "no-daemon",
	  .kind = PARAM_SWITCH,
	  .help = "do not wait for a place among those that `aisbx daemon` lets run" },
	{ .name = "profile", .metavar = "NAME|FILE", .help = "as for run" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "as for run" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "env-fd", .metavar = "N", .help = "as for run" },
	{ .name = "trace", .metavar = "ID", .help = "as for run" },
	{ .name = "settings", .metavar = "FILE", .help = "as for run" },
	{ .name = "cache", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "no-cache", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "require-signature", .kind = PARAM_SWITCH, .help = "as for run" },
	{ .name = "yes",
	  .letter = 'y',
	  .kind = PARAM_SWITCH,
	  .help = "apply without asking, if the command succeeded" },
	{ .name = "no",
	  .letter = 'n',
	  .kind = PARAM_SWITCH,
	  .help = "apply nothing; keep the sandbox and print its name last, on stderr" },
	{ .name = "all",
	  .kind = PARAM_SWITCH,
	  .help = "list every path; more than 30 are folded by directory" },
	{ .name = "ignored",
	  .kind = PARAM_SWITCH,
	  .help = "apply also what git ignores on the host" },
	{ .name = NULL },
};

const struct op try_row = {
	.name = "try",
	.usage = "[flags] [--] CMD [ARGS]",
	.summary = "run a command, show what it changed, ask whether to apply it",
	.group = "Try something",
	.flags = OP_COMMAND | OP_SETTINGS | OP_RUN_CODES | OP_CLI_ONLY,
	.params = try_params,
	.help = "As run; afterwards the changes are listed and, on a terminal, you are\n"
		"asked. Applying is promote, and can be undone. -y applies when the command\n"
		"succeeded; -n keeps the sandbox and prints its name as the last line of\n"
		"stderr, as does a call without a terminal: stdout is the command's alone.\n"
		"What git ignores is left out, and the sandbox kept for it. The exit code\n"
		"is the command's own; with -y, promote's 3 (conflict) or 4 (needs your\n"
		"word) if the command's is 0.\n"
		"\n"
		"Examples:\n"
		"  aisbx try -- ./upgrade.sh\n"
		"  aisbx try -y -- sed -i s/colour/color/ README.md\n",
	.run = op_try_run,
};

const struct op diff_row = {
	.name = "diff",
	.page = "* --stat --patch --path",
	.words = OP_SANDBOXES,
	.usage = "NAME[@SNAP] [A..B]",
	.summary = "show what a sandbox changed",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_PAGED,
	.params = diff_params,
	.help = "Compares the host with the present of the sandbox, or two snapshots.\n"
		"Files that promotion asks about (hooks, shell start files, CI, agents'\n"
		"configuration, setuid) come first. Paths are relative in the workspace and\n"
		"absolute elsewhere. Bytes that would steer a terminal are shown as escapes\n"
		"on one.\n"
		"\n"
		"Examples:\n"
		"  aisbx diff fix-1\n"
		"  aisbx diff fix-1 --stat\n"
		"  aisbx diff fix-1 s1..s2\n"
		"  aisbx diff fix-1 --patch | git apply\n",
	.run = op_diff_run,
};

const struct op status_row = {
	.name = "status",
	.page = "*",
	.words = OP_SANDBOXES,
	.usage = "NAME",
	.summary = "tell how far a sandbox is behind the host",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_PAGED,
	.help = "Which files that the sandbox changed were changed on the host too, since\n"
		"when, and how many others moved since the clone.\n",
	.run = op_status_run,
};

const struct op promote_row = {
	.name = "promote",
	.words = OP_SANDBOXES,
	.usage = "NAME[@SNAP] [PATH...]",
	.summary = "apply what a sandbox changed to the host; can be undone",
	.group = GROUP,
	.params = promote_params,
	.help = "All of the workspace's changes, or the paths named as diff --name-status\n"
		"prints them. Journalled: killed or cut from power at any instant, the tree\n"
		"is old or new, and the next command finishes or reverses it. What host\n"
		"changed meanwhile is a conflict (exit 3) unless --strategy decides; files\n"
		"that could make something run need your word (exit 4). What git ignores on\n"
		"the host stays in the sandbox, unless it is named or --ignored is given.\n"
		"Nothing outside the workspace is ever applied.\n"
		"\n"
		"Examples:\n"
		"  aisbx promote fix-1 --dry-run\n"
		"  aisbx promote fix-1 src/parser.c --strategy merge\n"
		"  aisbx promote fix-1 --allow-path Makefile\n"
		"  aisbx promote fix-1 --artifact build/app --to ~/bin/\n",
	.run = op_promote_run,
};

static const struct op_param undo_params[] = {
	{ .name = "digest",
	  .metavar = "HEX",
	  .help = "only if ID has this digest, `bundle` in the list of promotions" },
	{ .name = NULL },
};

const struct op undo_row = {
	.name = "undo",
	.page = "* --digest!",
	.words = "@promotions",
	.usage = "[ID]",
	.summary = "take a promotion back",
	.group = GROUP,
	.flags = OP_CLI_ONLY,
	.params = undo_params,
	.help = "Without ID, the newest one of the workspace you stand in. Files that were\n"
		"changed since are a conflict (exit 3), and then nothing is taken back.\n"
		"Warm caches that the promotion kept (--cache) stay: gc --caches removes\n"
		"all.\n",
	.run = op_undo_run,
};

static const struct op_param promotions_params[] = {
	{ .name = "yes",
	  .letter = 'y',
	  .kind = PARAM_SWITCH,
	  .help = "approve: a person said so already; do not ask" },
	{ .name = "strategy",
	  .letter = 's',
	  .metavar = "WORD",
	  .help = "request: what becomes of conflicts, as for promote",
	  .choices = "fail|merge|ours|theirs|lww|merge+ours|merge+theirs" },
	{ .name = "ignored", .kind = PARAM_SWITCH, .help = "request: also what git ignores" },
	{ .name = "commits",
	  .kind = PARAM_SWITCH,
	  .help = "request: the commits of its branch, as for promote" },
	{ .name = "reason", .metavar = "TEXT", .help = "request: why, for the person who decides" },
	{ .name = "stages",
	  .kind = PARAM_SWITCH,
	  .help = "request: a way through the stages, as stage run goes, instead of a promotion" },
	{ .name = "to", .metavar = "STAGE", .help = "with --stages: go no further than this one" },
	{ .name = "commit",
	  .metavar = "TEXT",
	  .help = "request: a commit of what was promoted, with this message" },
	{ .name = "all", .kind = PARAM_SWITCH, .help = "reject: everything that waits" },
	{ .name = "digest",
	  .metavar = "HEX",
	  .help = "approve: only what has this digest, `bundle` in the list" },
	{ .name = "owner",
	  .metavar = "NAME",
	  .help = "with --all: only what this owner asked for" },
	{ .name = NULL },
};

const struct op promotions_row = {
	.name = "promotions",
	.page = "-; request --strategy --ignored --reason; approve --yes --digest!; reject",
	.usage = "[request NAME [PATH...] | approve ID | reject ID|--all]",
	.words = "request|approve|reject;@sandboxes|@promotions",
	.summary = "list what was promoted; decide what an agent asked for",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_PAGED,
	.params = promotions_params,
	.help = "Finishes or reverses what was interrupted on the way. What cannot be yet\n"
		"(its target is away, a disk refuses) stays pending, with a note that says\n"
		"why, and keeps other promotions and undos from that target only. The last\n"
		"20 of a target can be undone.\n"
		"\n"
		"Agents ask for promotions over MCP, and request does so by hand: what a\n"
		"sandbox changed is kept as a question, in a snapshot that goes with the\n"
		"answer. approve does exactly what was shown, and nothing if that can no\n"
		"longer be had; it takes a person at a terminal, or --yes. reject ends it.\n"
		"\n"
		"Examples:\n"
		"  aisbx promotions\n"
		"  aisbx promotions request fix-1 src --reason 'tests pass'\n"
		"  aisbx promotions approve 01JCQ8ZK3V5W7X9Y1A2B3C4D5E\n",
	.run = op_promotions_run,
};
