/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that change and show network rules. */
#include "ops/rows/rows.h"

#define GROUP "Decide what is allowed"

static const struct op_param rule_params[] = {
	{ .name = "rm",
	  .kind = PARAM_SWITCH,
	  .help = "take a rule back that this verb kept; --remove is the same" },
	{ .name = "remove", .kind = PARAM_SWITCH, .help = "as --rm" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "without NAME: the workspace it is for; default: as for run" },
	{ .name = "digest",
	  .metavar = "HEX",
	  .help = "only while the rules have this digest, which net --json shows" },
	{ .name = NULL },
};

static const struct op_param allow_params[] = {
	{ .name = "rm",
	  .kind = PARAM_SWITCH,
	  .help = "take a rule back that this verb kept; --remove is the same" },
	{ .name = "remove", .kind = PARAM_SWITCH, .help = "as --rm" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "without NAME: the workspace it is for; default: as for run" },
	{ .name = "digest",
	  .metavar = "HEX",
	  .help = "only while the rules have this digest, which net --json shows" },
	{ .name = "services-with-network",
	  .kind = PARAM_SWITCH,
	  .help = "for a sandbox with copies of services: their data may leave by its rules" },
	{ .name = NULL },
};

static const struct op_param net_params[] = {
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "without NAME: the workspace; default: as for run" },
	{ .name = "refresh",
	  .kind = PARAM_SWITCH,
	  .help = "of presets: look once at each index for other hosts that files come from" },
	{ .name = NULL },
};

static const struct op_param mount_params[] = {
	{ .name = "ro",
	  .kind = PARAM_LIST,
	  .metavar = "SRC:DST",
	  .help = "show SRC at DST inside, read-only, from the next start on" },
	{ .name = "rm", .kind = PARAM_LIST, .metavar = "DST", .help = "take back what DST shows" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "the workspace it is for; default: as for run" },
	{ .name = NULL },
};

const struct op allow_row = {
	.name = "allow",
	.page = "* --digest! --workspace",
	.words = OP_SANDBOXES,
	.usage = "[NAME] RULE[,RULE...] [--rm]",
	.summary = "let connections out to a place, from now on",
	.group = GROUP,
	.flags = OP_CLI_ONLY,
	.params = allow_params,
	.help = "With NAME, the rule is kept with that sandbox and is in force at once,\n"
		"while it runs. NAME may also be a run of its own, by its id or by the name\n"
		"that top shows: there it holds until the run ends. Without NAME, the rule is\n"
		"kept in your own configuration for this workspace, and holds for later runs\n"
		"there, on top of flags and profile; deny wins. RULE is as for run --allow:\n"
		"[udp:]HOST[:PORTS], HOST a name, *.name, an address, a CIDR or [IPv6], or a\n"
		"URL without a path; without a port 443 and 80. localhost:PORT is a server of\n"
		"this machine. --rm takes a rule back; with the last one the network is none.\n"
		"A sandbox that runs without a network gets one at its next start.\n"
		"\n"
		"Examples:\n"
		"  aisbx allow pypi.example.org,files.example.org\n"
		"  aisbx allow fix-1 '*.example.org:443'\n"
		"  aisbx allow fix-1 --rm '*.example.org:443'\n"
		"  aisbx allow fix-1 localhost:5432\n"
		"  aisbx allow 01JCQ3Z8M4T9V5K2H7N6P1RXWB example.org:443\n",
	.run = op_allow_run,
};

const struct op deny_row = {
	.name = "deny",
	.page = "* --digest! --workspace",
	.words = OP_SANDBOXES,
	.usage = "[NAME] RULE[,RULE...] [--rm]",
	.summary = "refuse connections to a place, from now on",
	.group = GROUP,
	.flags = OP_CLI_ONLY,
	.params = rule_params,
	.help = "As allow, the other way round: a rule to deny beats every rule to allow,\n"
		"wherever that comes from; without a port it is about every port. What is open\n"
		"and is not permitted any more is ended, datagrams too.\n"
		"\n"
		"Examples:\n"
		"  aisbx deny fix-1 telemetry.example.org\n",
	.run = op_deny_run,
};

const struct op net_row = {
	.name = "net",
	.page = "*; - --workspace",
	.words = OP_SANDBOXES,
	.usage = "[NAME|presets [--refresh]]",
	.summary = "show network rules, where they come from, counts and denials",
	.group = GROUP,
	.flags = OP_READ_ONLY,
	.params = net_params,
	.help = "With NAME, of that sandbox, or of a run by its id; while it runs also its\n"
		"connections, its bytes each way, and what was denied last. Without, of runs\n"
		"in this workspace.\n"
		"FROM is who said it: sandbox and workspace (kept by allow and deny), flag,\n"
		"profile; run for all that a run without a name has.\n"
		"\n"
		"net presets shows what each @NAME of --allow means here, and how that is\n"
		"known: from files of yours and of this machine, your variables, and the\n"
		"clients themselves; never from files of the workspace. --refresh looks at each\n"
		"index once (1 MiB, 5 s, no token) and keeps the other hosts it names. Presets\n"
		"of your own are lines `NAME HOST[,HOST]` in ~/.config/aisbx/presets.\n"
		"\n"
		"Examples:\n"
		"  aisbx net\n"
		"  aisbx net fix-1 --json\n"
		"  aisbx net presets --refresh\n",
	.run = op_net_run,
};

const struct op mount_row = {
	.name = "mount",
	.usage = "[--ro SRC:DST | --rm DST]...",
	.summary = "show a directory to every sandbox of this workspace, read-only",
	.group = GROUP,
	.flags = OP_CLI_ONLY,
	.params = mount_params,
	.help = "Alone, lists what is shown. As --ro of run, but kept for this workspace, in\n"
		"your own configuration: later runs have it, and sandboxes from their next\n"
		"start on (aisbx stop NAME). A SRC that is gone, or has become a link, is an\n"
		"error then, and not followed.\n"
		"\n"
		"Examples:\n"
		"  aisbx mount --ro ./dataset:/mnt/ds\n"
		"  aisbx mount\n"
		"  aisbx mount --rm /mnt/ds\n",
	.run = op_mount_run,
};
