/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that save, rewind and branch a sandbox. */
#include "ops/rows/rows.h"

#define GROUP "Save and rewind"

#define FREEZE_PARAM                                                              \
	{                                                                         \
		.name = "freeze", .kind = PARAM_SWITCH,                           \
		.help = "with processes alive: freeze them, copy, let them go on" \
	}
#define KILL_PARAM                                             \
	{                                                      \
		.name = "kill", .kind = PARAM_SWITCH,          \
		.help = "with processes alive: end them first" \
	}

static const struct op_param snap_params[] = {
	{ .name = "message", .letter = 'm', .metavar = "TEXT", .help = "a word on what this is" },
	{ .name = "name",
	  .metavar = "SNAP",
	  .help = "call it that; default: the next of s1, s2, ..." },
	{ .name = "durable", .kind = PARAM_SWITCH, .help = "wait until it is on the disk" },
	FREEZE_PARAM,
	KILL_PARAM,
	{ .name = NULL },
};

static const struct op_param kill_params[] = {
	KILL_PARAM,
	{ .name = NULL },
};

static const struct op_param fork_params[] = {
	{ .name = "ttl", .metavar = "TIME", .help = "remove it after this time: 30m, 2h, 7d" },
	FREEZE_PARAM,
	KILL_PARAM,
	{ .name = NULL },
};

const struct op snap_row = {
	.name = "snap",
	.page = "* --message",
	.words = OP_SANDBOXES,
	.usage = "NAME [-m TEXT]",
	.summary = "save the present of a sandbox, to come back to",
	.group = GROUP,
	.params = snap_params,
	.help = "A pointer is moved, nothing is copied: about a millisecond whatever the\n"
		"size of the tree. With processes alive in the sandbox it refuses and names\n"
		"them, unless --freeze or --kill says what to do.\n"
		"\n"
		"Examples:\n"
		"  aisbx snap fix-1 -m 'tests pass'\n"
		"  aisbx rollback fix-1\n",
	.run = op_snap_run,
};

const struct op snaps_row = {
	.name = "snaps",
	.page = "*",
	.words = OP_SANDBOXES,
	.usage = "NAME",
	.summary = "list the snapshots of a sandbox as a tree",
	.group = GROUP,
	.flags = OP_READ_ONLY,
	.help = "Automatic ones keep what a rollback or a fork found.\n",
	.run = op_snaps_run,
};

const struct op rollback_row = {
	.name = "rollback",
	.page = "* --kill",
	.words = OP_SANDBOXES ";@snapshots",
	.usage = "NAME [SNAP]",
	.summary = "take a sandbox back to a snapshot; can itself be undone",
	.group = GROUP,
	.params = kill_params,
	.help = "Without SNAP, to the last one you made, or to the beginning when there is\n"
		"none. What the sandbox held is kept as an automatic snapshot first, whose\n"
		"name is printed.\n"
		"\n"
		"Examples:\n"
		"  aisbx rollback fix-1\n"
		"  aisbx rollback fix-1 s1\n"
		"  aisbx rollback fix-1 auto1     (back to before the first rollback)\n",
	.run = op_rollback_run,
};

const struct op fork_row = {
	.name = "fork",
	.page = "*",
	.words = OP_SANDBOXES,
	.usage = "NAME[@SNAP] NEW",
	.summary = "start a second sandbox where one is, or was",
	.group = GROUP,
	.params = fork_params,
	.help = "Both go their own ways from there; neither costs a copy.\n"
		"\n"
		"Examples:\n"
		"  aisbx fork fix-1 other-way\n"
		"  aisbx fork fix-1@s1 from-the-start --ttl 1h\n",
	.run = op_fork_run,
};

const struct op refresh_row = {
	.name = "refresh",
	.words = OP_SANDBOXES,
	.usage = "NAME",
	.summary = "take today's host as the base of a sandbox",
	.group = GROUP,
	.params = kill_params,
	.help = "What the sandbox changed stays on top; everything else is as the host is\n"
		"now. Each exec looks at your files anew; only names that a process inside\n"
		"holds stay old, and --kill ends those. status tells beforehand what moved.\n",
	.run = op_refresh_run,
};
