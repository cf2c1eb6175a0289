/* SPDX-License-Identifier: Apache-2.0 */
/* Every verb in the order of the help, and the rows of those that need no named sandbox. */
#include "ops/op.h"
#include "ops/rows/rows.h"

/*
 * Verbs that need libraries are linked into aisbx-full only. The reference is weak, so that this
 * table is one object for both programs: in the hot one the function is NULL and main.c hands over.
 */
#pragma weak op_profile_run
#pragma weak op_bench_run
#pragma weak op_gc_run
#pragma weak op_tour_run

const struct op_param op_common_params[] = {
	{ .name = "json", .kind = PARAM_SWITCH, .help = "answer with data instead of words" },
	{ .name = "help", .letter = 'h', .kind = PARAM_SWITCH, .help = "explain this verb" },
	{ .name = "quiet",
	  .letter = 'q',
	  .kind = PARAM_SWITCH,
	  .help = "no notes and no progress on stderr; errors are told all the same" },
	{ .name = NULL },
};

static const struct op_param run_params[] = {
	{ .name = "profile",
	  .metavar = "NAME|FILE",
	  .help = "limits and rules to start from: built in, yours, or a file; flags come on top" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "the directory worked in; default: the enclosing git root or the current one" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "name-status",
	  .kind = PARAM_SWITCH,
	  .help = "afterwards, list what the command changed: git's letter, a tab, the path" },
	{ .name = "no-daemon",
	  .kind = PARAM_SWITCH,
	  .help = "start the sandbox here, also where `aisbx daemon` has one ready" },
	{ .name = "env-fd",
	  .metavar = "N",
	  .help = "set the variables that descriptor N holds, each K=V and a null byte" },
	{ .name = "trace",
	  .metavar = "ID",
	  .help = "a name of yours that comes back as trace_id, to find the run again" },
	{ .name = "keep",
	  .metavar = "NAME",
	  .help = "keep the sandbox under this name, for exec, diff and promote" },
	{ .name = "write",
	  .metavar = "workspace",
	  .help = "what needs no consent is applied to the host when the command ends, and can be "
		  "undone",
	  .choices = "workspace" },
	{ .name = "batch",
	  .metavar = "FILE|-",
	  .help = "run one request per JSON line, answer with one result per line" },
	{ .name = "jobs",
	  .metavar = "N",
	  .help = "with --batch: runs at once; default as many as there are cores" },
	{ .name = "batch-time",
	  .metavar = "DURATION",
	  .help = "with --batch: for all lines together; then runs are ended, and the exit is "
		  "124" },
	{ .name = "settings",
	  .metavar = "FILE",
	  .help = "rules of srt's settings file; what cannot be enforced is refused" },
	{ .name = "cache",
	  .kind = PARAM_SWITCH,
	  .help = "keep what tools fetch and build for later runs of this workspace; not with "
		  "--disk" },
	{ .name = "no-cache", .kind = PARAM_SWITCH, .help = "without the caches of the profile" },
	{ .name = "require-signature",
	  .kind = PARAM_SWITCH,
	  .help = "run only a file whose signature holds (see aisbx sign)" },
	{ .name = "yes", .letter = 'y', .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "services-with-network", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "services-together", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "schema-only", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "user",
	  .metavar = "ID[:GID]",
	  .help = "as for exec; not with --write and --batch" },
	{ .name = NULL },
};

static const struct op_param plan_params[] = {
	{ .name = "profile", .metavar = "NAME|FILE", .help = "as for run" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "as for run" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "env-fd", .metavar = "N", .help = "as for run" },
	{ .name = "trace", .metavar = "ID", .help = "as for run" },
	{ .name = "settings", .metavar = "FILE", .help = "as for run" },
	{ .name = "cache", .kind = PARAM_SWITCH, .help = "as for run" },
	{ .name = "no-cache", .kind = PARAM_SWITCH, .help = "as for run" },
	{ .name = NULL },
};

static const struct op_param profile_params[] = {
	{ .name = "profile",
	  .metavar = "NAME|FILE",
	  .help = "learn: run under this one, which the learned one extends" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "learn: as for run" },
	{ .name = NULL },
};

static const struct op_param bench_params[] = {
	{ .name = "runs",
	  .letter = 'n',
	  .metavar = "N",
	  .help = "starts to measure of each kind; default 200" },
	{ .name = "quick",
	  .kind = PARAM_SWITCH,
	  .help = "a tenth of everything: a first impression" },
	{ .name = NULL },
};

static const struct op_param drivers_params[] = {
	{ .name = "measure",
	  .kind = PARAM_SWITCH,
	  .help = "start a command several times with each, and keep the times" },
	{ .name = NULL },
};

static const struct op_param help_params[] = {
	{ .name = "all", .kind = PARAM_SWITCH, .help = "every verb and topic, by what it is for" },
	{ .name = "complete",
	  .kind = PARAM_SWITCH,
	  .help = "what may follow the words behind --, the last of them unfinished: for shells" },
	{ .name = NULL },
};

static const struct op_param gc_params[] = {
	{ .name = "age",
	  .metavar = "TIME",
	  .help = "history older than this goes; default retain: {runs} of config.yaml, or 90d" },
	{ .name = "logs",
	  .metavar = "SIZE",
	  .help = "kept output beyond this goes, oldest first; default 5g" },
	{ .name = "dry-run",
	  .kind = PARAM_SWITCH,
	  .help = "remove nothing; show what of history and kept output would go" },
	{ .name = "caches",
	  .kind = PARAM_SWITCH,
	  .help = "all that runs with --cache kept goes, of every workspace" },
	{ .name = NULL },
};

static const struct op_column gc_columns[] = {
	{ "kind", "KIND" },
	{ "path", "REMOVED" },
	{ "detail", "WHY" },
	{ NULL, NULL },
};

static const struct op_column profile_columns[] = {
	{ "name", "NAME" },
	{ "origin", "FROM" },
	{ "summary", "SUMMARY" },
	{ NULL, NULL },
};

static const struct op run_row = {
	.name = "run",
	.usage = "[flags] [--] CMD [ARGS]",
	.summary = "run a command in a throw-away copy of this machine",
	.group = "Try something",
	.flags = OP_COMMAND | OP_SETTINGS | OP_RUN_CODES,
	.params = run_params,
	.help = "The command sees this machine's files, packages and configuration,\n"
		"copy-on-write: whatever it writes or deletes is gone when it ends.\n"
		"It has no network, no capabilities, no credentials of yours, and the\n"
		"limits of the profile. Its output and its exit code come back\n"
		"unchanged; the words behind -- are passed exactly. Without a\n"
		"command, the profile's entrypoint runs.\n"
		"\n"
		"Examples:\n"
		"  aisbx run -- make test\n"
		"  aisbx run --mem 512m --time 30s -- python3 untrusted.py\n"
		"  aisbx run --json --no-net -- pytest -q\n"
		"  aisbx run --name-status -- npm install   (what would it change?)\n"
		"\n"
		"See also: aisbx help limits, exit-codes, profiles, layers, root.\n",
	.run = op_run_run,
};

static const struct op plan_row = {
	.name = "plan",
	.usage = "[flags] [--] CMD [ARGS]",
	.summary = "show what run would launch, without launching it",
	.group = "Try something",
	.flags = OP_COMMAND | OP_SETTINGS | OP_READ_ONLY,
	.params = plan_params,
	.help = "Takes the flags of run and prints the complete plan: every path,\n"
		"mask, limit and variable, each default made explicit. With --json,\n"
		"the object launch itself reads.\n"
		"\n"
		"Examples:\n"
		"  aisbx plan -- make test\n"
		"  aisbx plan --json --profile strict -- true\n",
	.run = op_plan_run,
};

static const struct op profile_row = {
	.name = "profile",
	.usage = "ls | show NAME | check FILE... | learn [NAME] -- CMD | trust FILE | untrust FILE",
	.words = "ls|show|check|learn|trust|untrust;@profiles|:files",
	.summary = "list, print, check, learn and trust profiles",
	.group = "Decide what is allowed",
	.flags = OP_LIBRARIES | OP_CLI_ONLY | OP_COMMAND | OP_WORDS,
	.params = profile_params,
	.columns = profile_columns,
	.help = "ls lists the profiles built in and yours (~/.config/aisbx/profiles).\n"
		"show prints one and what it comes to. check reads files and reports\n"
		"each mistake with its line and the nearest key; it exits 2 when one\n"
		"does not hold. learn runs a command as run does and writes a profile of\n"
		"yours that permits no system calls but those it used, with what other C\n"
		"libraries use in their place, and twice the memory; a call beyond them is\n"
		"refused and named in the result. Learning again adds to it. Hosts are not\n"
		"opened by it. trust lets the .aisbx.yaml of a workspace say all it\n"
		"says, not only what narrows, until one byte of it changes; untrust\n"
		"ends that.\n"
		"\n"
		"Examples:\n"
		"  aisbx profile ls\n"
		"  aisbx profile show strict > mine.yaml\n"
		"  aisbx profile check mine.yaml\n"
		"  aisbx profile learn tests -- make test\n"
		"  aisbx profile trust .aisbx.yaml\n",
	.run = op_profile_run,
};

static const struct op_param doctor_params[] = {
	{ .name = "fix", .kind = PARAM_SWITCH, .help = "change the settings, asking for each" },
	{ .name = "undo", .kind = PARAM_SWITCH, .help = "take back what --fix changed" },
	{ .name = "yes", .letter = 'y', .kind = PARAM_SWITCH, .help = "without asking" },
	{ 0 },
};

static const struct op doctor_row = {
	.name = "doctor",
	.usage = "[--fix|--undo [-y] [NAME...]]",
	.summary = "is this machine fit, and what to do about it",
	.group = "Look after this machine",
	.words = "",
	.params = doctor_params,
	.help = "Tries each protection for real. Exits 0 when every mandatory layer\n"
		"works, 1 when one is missing; the remedy is a command or a setting\n"
		"to change.\n"
		"\n"
		"--fix shows the commands for what a setting of this machine mends (kernel\n"
		"settings, AppArmor, the overlay module, delegation of control groups), asks\n"
		"about each, and runs them: as root as they are, else by sudo where that\n"
		"needs no password now (sudo -v). What was there before is kept on record,\n"
		"and --undo puts it back, except what others changed since. NAME is one of\n"
		"those listed. Nothing is changed without a yes or --yes: exit 4.\n"
		"\n"
		"Examples:\n"
		"  aisbx doctor --fix\n"
		"  aisbx doctor --fix -y kernel.unprivileged_userns_clone\n"
		"  aisbx doctor --undo\n",
	.run = op_doctor_run,
};

static const struct op drivers_row = {
	.name = "drivers",
	.usage = "[--measure]",
	.summary = "the ways to isolate a command: strength, what each lacks, is it here",
	.group = "Look after this machine",
	.flags = OP_READ_ONLY,
	.params = drivers_params,
	.help = "One object per driver with --json. run --driver NAME takes one of them, and\n"
		"the result says isolation and, in degraded, which layers did not hold. A\n"
		"weaker one than linux is never taken unless it is named. Start times are\n"
		"those that --measure found last on this machine, with their date.\n",
	.run = op_drivers_run,
};

static const struct op bench_row = {
	.name = "bench",
	.usage = "[--runs N] [--quick]",
	.summary = "measure starts, limits and isolation on this machine",
	.group = "Look after this machine",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = bench_params,
	.help = "The playbook of an evaluator in one command: start times against a\n"
		"plain spawn and the other sandboxes installed here, builds inside\n"
		"against outside, limits that hold, a network that is shut, paths\n"
		"that lead nowhere. Ends with a table.\n",
	.run = op_bench_run,
};

static const struct op gc_row = {
	.name = "gc",
	.usage = "[--age TIME] [--logs SIZE] [--caches] [--dry-run]",
	.summary = "remove what killed runs left behind, and what is kept no longer",
	.group = "Look after this machine",
	.flags = OP_LIBRARIES,
	.params = gc_params,
	.columns = gc_columns,
	.help = "Every run cleans up after itself, and after those that were killed\n"
		"before it; gc does the same without running anything. What belongs\n"
		"to a living run is not touched. It also removes expired sandboxes,\n"
		"those of an aisbx serve that was killed with its guard,\n"
		"layers that nothing refers to, promotions too old to be undone, and\n"
		"history beyond its age and size; it says what it removed.\n"
		"Undo records that promotions of a lost store left at the top of a\n"
		"mount go at once if they were undone; those that can still be undone\n"
		"or are not finished are listed and left: another store may need them.\n"
		"Warm caches (run --cache) go after a month without use, or beyond 16 GiB\n"
		"together; those that stay are listed.\n"
		"How long runs and their output are kept by default stands in\n"
		"~/.config/aisbx/config.yaml: `retain: {runs: 90d, logs: 14d}`, for one\n"
		"workspace `retain: {workspaces: {/DIR: {runs: 7d, logs: 1d}}}`. With\n"
		"`archive: file:/DIR` or `archive: s3://BUCKET/PREFIX` beside it, what goes\n"
		"of the record is archived first (aisbx help archive). What is pinned, and\n"
		"runs of sandboxes that were promoted in the last week or wait for an\n"
		"approval, stay.\n",
	.run = op_gc_run,
};

static const struct op version_row = {
	.name = "version",
	.usage = "",
	.summary = "print the version",
	.group = "Look after this machine",
	.flags = OP_READ_ONLY,
	.run = op_version_run,
};

static const struct op_param tour_params[] = {
	{ .name = "here",
	  .kind = PARAM_SWITCH,
	  .help = "in the current directory, with your own home; no file of it is changed" },
	{ .name = NULL },
};

static const struct op tour_row = {
	.name = "tour",
	.usage = "[--here]",
	.summary = "see the main job done, on a directory made for that",
	.group = "Look after this machine",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = tour_params,
	.help = "Runs, tries, takes back and races in a directory of its own, with a home\n"
		"of its own, in a few seconds, and shows the commands with their output.\n"
		"Nothing of it stays. Exits 1 where something did not come out as it\n"
		"should.\n"
		"\n"
		"With --here it shows, in the directory you are in, which files a sandbox\n"
		"has, what becomes of its changes and how much of your home it sees, and\n"
		"ends with a command to go on with. Its three runs are on record (aisbx\n"
		"history).\n",
	.run = op_tour_run,
};

static const struct op help_row = {
	.name = "help",
	.usage = "[VERB | TOPIC | --all]",
	.words = OP_TOPICS,
	.summary = "explain a verb or a topic",
	.group = "Look after this machine",
	.flags = OP_READ_ONLY | OP_CLI_ONLY | OP_COMMAND | OP_WORDS,
	.params = help_params,
	.help = "Without a word, shows the verbs to begin with. With --json, the table of\n"
		"all verbs and flags as data.\n",
	.run = op_help_run,
};

const struct op *const ops[] = {
	&run_row,     &try_row,	     &plan_row,	   &create_row,	   &exec_row,	  &shell_row,
	&poll_row,    &ls_row,	     &inspect_row, &stop_row,	   &rm_row,	  &cp_row,
	&todo_row,    &services_row, &snap_row,	   &snaps_row,	   &rollback_row, &fork_row,
	&refresh_row, &diff_row,     &status_row,  &promote_row,   &undo_row,	  &promotions_row,
	&race_row,    &gate_row,     &task_row,	   &job_row,	   &stage_row,	  &artifact_row,
	&repo_row,    &push_row,     &pull_row,	   &conflicts_row, &key_row,	  &history_row,
	&show_row,    &explain_row,  &logs_row,	   &top_row,	   &events_row,	  &search_row,
	&stats_row,   &guard_row,    &scan_row,	   &sign_row,	   &secret_row,	  &allow_row,
	&deny_row,    &net_row,	     &mount_row,   &profile_row,   &policy_row,	  &files_row,
	&mcp_row,     &daemon_row,   &queue_row,   &ui_row,	   &serve_row,	  &setup_row,
	&agent_row,   &hook_row,     &image_row,   &init_row,	   &wasm_row,	  &doctor_row,
	&drivers_row, &bench_row,    &gc_row,	   &sync_row,	   &archive_row,  &tour_row,
	&version_row, &help_row,     NULL,
};
