/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that make, enter, list and remove named sandboxes. */
#include "ops/rows/rows.h"

#define GROUP "Named sandboxes"

static const struct op_param create_params[] = {
	{ .name = "profile",
	  .metavar = "NAME|FILE",
	  .help = "limits and rules to start from, as for run; flags come on top" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "the directory worked in; default: the enclosing git root or the current one" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "env-fd", .metavar = "N", .help = "as for run" },
	{ .name = "ttl", .metavar = "TIME", .help = "remove it after this time: 30m, 2h, 7d" },
	{ .name = "worktree",
	  .metavar = "BRANCH",
	  .help = "switch to that branch inside, a new one where there is none; the host has it "
		  "from promote --commits on" },
	{ .name = "settings",
	  .metavar = "FILE",
	  .help = "rules of srt's settings file, as for run; what it says of writing, promote "
		  "asks about" },
	{ .name = "cache",
	  .kind = PARAM_SWITCH,
	  .help = "begin with what tools fetched and built in sandboxes of this workspace that "
		  "were "
		  "promoted; not with --disk" },
	{ .name = "no-cache", .kind = PARAM_SWITCH, .help = "without the caches of the profile" },
	{ .name = "require-signature",
	  .kind = PARAM_SWITCH,
	  .help = "exec in it only files whose signature holds (see aisbx sign)" },
	{ .name = "yes",
	  .letter = 'y',
	  .kind = PARAM_SWITCH,
	  .help = "with --with-services: you agree to clones of them, this time" },
	{ .name = "services-with-network",
	  .kind = PARAM_SWITCH,
	  .help = "with --with-services and network rules: their data may leave by these" },
	{ .name = "services-together",
	  .kind = PARAM_SWITCH,
	  .help = "with --with-services: copies of one instant, or none" },
	{ .name = "schema-only",
	  .kind = PARAM_SWITCH,
	  .help = "with --with-services: users, databases and tables without what is in them" },
	{ .name = "services-max-age",
	  .metavar = "TIME",
	  .help = "take a copy of a service that was made for another sandbox if it is no older; "
		  "and keep those made now as long" },
	{ .name = NULL },
};

static const struct op_param exec_params[] = {
	{ .name = "no-daemon",
	  .kind = PARAM_SWITCH,
	  .help = "do not wait for a place among those that `aisbx daemon` lets run" },
	{ .name = "detach",
	  .letter = 'd',
	  .kind = PARAM_SWITCH,
	  .help = "start it in the background and say its id, for poll" },
	{ .name = "write",
	  .metavar = "workspace",
	  .help = "what needs no consent is applied to the host when the command ends, and can be "
		  "undone",
	  .choices = "workspace" },
	{ .name = "user",
	  .metavar = "ID[:GID]",
	  .help = "run it under another id of the sandbox, a number or a name of its /etc/passwd; "
		  "for root" },
	{ .name = "time", .metavar = "TIME", .help = "wall clock limit of this command" },
	{ .name = "cpu-time", .metavar = "TIME", .help = "CPU seconds of this command" },
	{ .name = "grace",
	  .metavar = "TIME",
	  .help = "between a signal and the kill (default 2s); if given, --time sends TERM first" },
	{ .name = "output", .metavar = "SIZE", .help = "kept of each stream in the result" },
	{ .name = "scan",
	  .metavar = "off|warn|enforce",
	  .help = "read the code first, by a policy; never less than the sandbox asks for",
	  .choices = "off|warn|enforce" },
	{ .name = "require-signature",
	  .kind = PARAM_SWITCH,
	  .help = "only a file whose signature holds (see aisbx sign)" },
	{ .name = "env",
	  .kind = PARAM_LIST,
	  .metavar = "K=V",
	  .help = "set a variable for this command; may be repeated" },
	{ .name = "env-fd", .metavar = "N", .help = "as for run" },
	{ .name = "secret",
	  .kind = PARAM_LIST,
	  .metavar = "NAME[=FILE]",
	  .help = "a stored secret or a file for this command alone, at /run/secrets/NAME; kept "
		  "out "
		  "of output" },
	{ .name = "secret-env",
	  .kind = PARAM_LIST,
	  .metavar = "VAR=NAME",
	  .help = "a stored secret as a variable of this command alone; kept out of output" },
	{ .name = "trace",
	  .metavar = "ID",
	  .help = "a name of yours that comes back as trace_id, to find the run again" },
	{ .name = NULL },
};

static const struct op_param poll_params[] = {
	{ .name = "offset",
	  .metavar = "N",
	  .help = "bytes of stdout that are known already; default 0: all of it" },
	{ .name = "stderr-offset", .metavar = "N", .help = "the same for stderr" },
	{ .name = "wait",
	  .metavar = "TIME",
	  .help = "wait for more output or the end, at most this long and 60s" },
	{ .name = "input", .metavar = "TEXT", .help = "write this to its standard input first" },
	{ .name = "input-fd",
	  .metavar = "N",
	  .help = "write what descriptor N holds to its standard input first" },
	{ .name = "input-end", .kind = PARAM_SWITCH, .help = "and end its standard input" },
	{ .name = "signal",
	  .metavar = "NAME",
	  .choices = "TERM|INT|KILL|HUP|QUIT|USR1|USR2|STOP|CONT",
	  .help = "send this signal to its process group; KILL ends all it started" },
	{ .name = "end",
	  .kind = PARAM_SWITCH,
	  .help = "end it: TERM to its process group, after 2 s KILL to all it started" },
	{ .name = NULL },
};

static const struct op_param cp_params[] = {
	{ .name = "kill",
	  .kind = PARAM_SWITCH,
	  .help = "copying out with processes alive: end them first" },
	{ .name = NULL },
};

static const struct op_param rm_params[] = {
	{ .name = "all", .kind = PARAM_SWITCH, .help = "every sandbox of yours" },
	{ .name = "workspace",
	  .kind = PARAM_SWITCH,
	  .help = "every one whose workspace is the current directory, or holds it" },
	{ .name = "yes",
	  .letter = 'y',
	  .kind = PARAM_SWITCH,
	  .help = "with --all or --workspace: do not ask; needed without a terminal" },
	{ .name = NULL },
};

static const struct op_param todo_params[] = {
	{ .name = "add",
	  .kind = PARAM_LIST,
	  .metavar = "TEXT",
	  .help = "add a step at the end; may be repeated" },
	{ .name = "done",
	  .kind = PARAM_LIST,
	  .metavar = "N",
	  .help = "step N is done; may be repeated" },
	{ .name = "undone",
	  .kind = PARAM_LIST,
	  .metavar = "N",
	  .help = "step N is not done after all; may be repeated" },
	{ .name = "set",
	  .kind = PARAM_SWITCH,
	  .help = "replace the list by the words behind the name" },
	{ .name = "clear", .kind = PARAM_SWITCH, .help = "empty the list first" },
	{ .name = NULL },
};

static const struct op_column services_columns[] = {
	{ "name", "SERVICE" },	 { "port", "PORT" }, { "state", "STATE" },
	{ "level", "CLONE BY" }, { NULL, NULL },
};

const struct op services_row = {
	.name = "services",
	.usage = "[SANDBOX | trust NAME]",
	.summary = "list the services that run here, or those of a sandbox",
	.group = GROUP,
	.words = "trust|" OP_SANDBOXES,
	.columns = services_columns,
	.help = "Lists what listens on this machine: whose it is, where its state lies, how\n"
		"it could be cloned into a sandbox, and about how long that takes. Changes\n"
		"nothing. With --with-services NAME a sandbox gets a consistent copy of a\n"
		"service on the same port; what happens to it there never reaches the\n"
		"original, and promote leaves it out.\n\n"
		"The data of a service may be as secret as a password: `services trust NAME`\n"
		"agrees to clones of that service, once and for all; --yes for one call.\n\n"
		"  aisbx services\n"
		"  aisbx services trust postgres\n"
		"  aisbx create fix-1 --with-services postgres,redis\n"
		"  aisbx services fix-1\n",
	.run = op_services_run,
};

const struct op create_row = {
	.name = "create",
	.usage = "NAME [flags]",
	.summary = "make a named sandbox that keeps what happens in it",
	.group = GROUP,
	.flags = OP_SETTINGS,
	.params = create_params,
	.help = "A clone of this machine, as run makes one, that stays: commands run in\n"
		"it with exec see what earlier ones did, and the host sees none of it until\n"
		"promote. Making one costs the same whatever the size of the tree, and\n"
		"nothing runs until the first exec. Names are [a-z0-9][a-z0-9._-]{0,62}.\n"
		"\n"
		"Examples:\n"
		"  aisbx create fix-1\n"
		"  aisbx create fix-1 -C ~/src/app --mem 2g --ttl 2h\n"
		"  aisbx create fix-2 --worktree fix-2\n",
	.run = op_create_run,
};

const struct op exec_row = {
	.name = "exec",
	.words = OP_SANDBOXES,
	.usage = "[-d] NAME [flags] [--] CMD [ARGS]",
	.summary = "run a command in a named sandbox",
	.group = GROUP,
	.flags = OP_COMMAND | OP_NAMED | OP_RUN_CODES,
	.params = exec_params,
	.help = "Output, exit code and result are those of run. What the command wrote\n"
		"is there for the next one; processes it leaves behind live until stop, rm,\n"
		"the sandbox's end, or 15 minutes in which none was left. Several may run at\n"
		"once.\n"
		"\n"
		"With -d the answer is an id, at once: the command goes on by itself, for\n"
		"a day unless --time or the sandbox says less, and poll looks at it. Its\n"
		"output is kept as that of any run; --output bounds both streams together.\n"
		"\n"
		"Started by root, a sandbox has many ids: --user runs a command under another\n"
		"one than its user's, 0, with the same walls, and a wall between the two.\n"
		"\n"
		"Examples:\n"
		"  aisbx exec fix-1 -- make test\n"
		"  aisbx exec fix-1 --time 30s --json -- pytest -q\n"
		"  aisbx exec -d fix-1 -- npm run dev\n"
		"  aisbx exec fix-1 --user www-data -- ./serve\n",
	.run = op_exec_run,
};

const struct op poll_row = {
	.name = "poll",
	.usage = "EXEC [--wait TIME] [--input TEXT] [--signal NAME | --end]",
	.summary = "look at a command in the background, or tell it something",
	.group = GROUP,
	.params = poll_params,
	.help = "EXEC is what exec -d said. Shows what the command wrote, and whether it\n"
		"runs; with --json also the offsets to continue at, exact in bytes, and the\n"
		"result once it has ended. Input comes first, then the signal, then waiting.\n"
		"A megabyte of each stream is shown at a time. Results are kept for a day,\n"
		"output longer: see logs and show, which take the same id.\n"
		"\n"
		"Exits 0 whatever came of the command, 3 when it does not take the input, 5\n"
		"when there is no such command.\n"
		"\n"
		"Examples:\n"
		"  aisbx poll 01JCQ8ZK3V5W7X9Y1A2B3C4D5E --wait 10s\n"
		"  aisbx poll 01JCQ8ZK3V5W7X9Y1A2B3C4D5E --input yes --input-end\n"
		"  aisbx poll 01JCQ8ZK3V5W7X9Y1A2B3C4D5E --signal TERM --wait 5s --json\n",
	.run = op_poll_run,
};

const struct op shell_row = {
	.name = "shell",
	.words = OP_SANDBOXES,
	.usage = "NAME",
	.summary = "open a shell in a named sandbox",
	.group = GROUP,
	.flags = OP_RUN_CODES | OP_CLI_ONLY,
	.help = "Your shell, on a terminal of its own, with job control and without a\n"
		"limit of time.\n",
	.run = op_shell_run,
};

const struct op ls_row = {
	.name = "ls",
	.page = "-",
	.usage = "",
	.summary = "list sandboxes: state, changes, snapshots, age, size",
	.group = GROUP,
	.flags = OP_READ_ONLY,
	.help = "CHANGES counts files of the workspace: added, modified, deleted.\n",
	.run = op_ls_run,
};

const struct op inspect_row = {
	.name = "inspect",
	.page = "*",
	.words = OP_SANDBOXES,
	.usage = "NAME",
	.summary = "show everything about one sandbox, processes included",
	.group = GROUP,
	.flags = OP_READ_ONLY,
	.run = op_inspect_run,
};

const struct op cp_row = {
	.name = "cp",
	.usage = "NAME:SRC DST | SRC NAME:DST",
	.summary = "copy a file or directory into a sandbox, or out of one",
	.group = GROUP,
	.params = cp_params,
	.help = "Paths in the sandbox are relative to its workspace. Out is a promotion of\n"
		"that file or directory, as promote --artifact makes one: it can be undone,\n"
		"and what could make something run needs promote and your word. In is\n"
		"written by a command in the sandbox, with its rights and within its limits;\n"
		"a directory keeps modes, times and links, which are not followed, and comes\n"
		"to lie in DST when that is a directory already. DIR/. is what is in it.\n"
		"\n"
		"Examples:\n"
		"  aisbx cp fix-1:build/app ./app\n"
		"  aisbx cp ~/data.csv fix-1:data/\n"
		"  aisbx cp ./vendor fix-1:\n",
	.run = op_cp_run,
};

const struct op todo_row = {
	.name = "todo",
	.words = OP_SANDBOXES,
	.usage = "NAME [--add TEXT] [--done N] [--clear] [--set STEP...]",
	.summary = "keep a list of steps with a sandbox",
	.group = GROUP,
	.params = todo_params,
	.help = "A hundred lines of at most 500 bytes, kept beside the sandbox: snapshots\n"
		"and rollbacks leave them alone, a fork begins with a copy, nothing inside\n"
		"sees them. Steps are data: nothing in them is ever run or obeyed. Changes\n"
		"are made all at once or not at all.\n"
		"\n"
		"Examples:\n"
		"  aisbx todo fix-1 --set \"reproduce it\" \"fix it\" \"run the tests\"\n"
		"  aisbx todo fix-1 --done 1\n"
		"  aisbx todo fix-1 --add \"write the news\"\n",
	.run = op_todo_run,
};

const struct op stop_row = {
	.name = "stop",
	.page = "*",
	.words = OP_SANDBOXES,
	.usage = "NAME",
	.summary = "end every process in a sandbox; its files stay",
	.group = GROUP,
	.run = op_stop_run,
};

const struct op rm_row = {
	.name = "rm",
	.words = OP_SANDBOXES,
	.usage = "NAME... | --workspace | --all",
	.params = rm_params,
	.summary = "remove sandboxes with their snapshots and processes",
	.group = GROUP,
	.help = "Gone at once for everybody; the space is freed in the background. What\n"
		"was promoted stays promoted and can still be undone. Removes those that\n"
		"exist; exits 5 when one does not. NAME may be a pattern, quoted for the\n"
		"shell. Patterns, --all and --workspace ask first, or need --yes, and leave\n"
		"out what agents and other programs made for themselves.\n"
		"\n"
		"Examples:\n"
		"  aisbx rm 'try-*' --yes\n"
		"  aisbx rm --workspace --yes\n",
	.run = op_rm_run,
};
