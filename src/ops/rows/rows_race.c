/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that try several ways and judge them. */
#include "ops/rows/rows.h"

#define GROUP "Try several ways"

/* In aisbx-full only: see table.c. */
#pragma weak op_race_run
#pragma weak op_gate_run
#pragma weak op_task_run
#pragma weak op_job_run

static const struct op_param race_params[] = {
	{ .name = "no-daemon",
	  .kind = PARAM_SWITCH,
	  .help = "do not wait for a place among those that `aisbx daemon` lets run" },
	{ .name = "attempt",
	  .letter = 'c',
	  .kind = PARAM_LIST,
	  .metavar = "NAME=COMMAND",
	  .help = "one way to try, as a shell would run it; repeat it" },
	{ .name = "file",
	  .letter = 'f',
	  .metavar = "FILE",
	  .help = "read attempts from a race file" },
	{ .name = "check",
	  .metavar = "COMMAND",
	  .help = "what an attempt must pass, run in a throw-away copy of it" },
	{ .name = "prefer",
	  .metavar = "RULES",
	  .help = "order among those who pass: score, small, fast, memory; default "
		  "score,small,fast" },
	{ .name = "jobs", .metavar = "N", .help = "attempts at a time; default: the processors" },
	{ .name = "first", .kind = PARAM_SWITCH, .help = "end the others as soon as one passes" },
	{ .name = "promote", .kind = PARAM_SWITCH, .help = "apply the winner to the host" },
	{ .name = "strategy",
	  .metavar = "WORD",
	  .help = "with --promote: what becomes of conflicts, as for promote",
	  .choices = "fail|merge|ours|theirs|lww" },
	{ .name = "ignored",
	  .kind = PARAM_SWITCH,
	  .help = "with --promote: also what git ignores on the host" },
	{ .name = "commits",
	  .kind = PARAM_SWITCH,
	  .help = "with --promote: the commits of its branch, as for promote" },
	{ .name = "base",
	  .metavar = "SANDBOX|DIR",
	  .help = "start every attempt from there; default: the workspace" },
	{ .name = "profile", .metavar = "NAME|FILE", .help = "as for run" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "as for run" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "trace", .metavar = "ID", .help = "as for run" },
	{ .name = "settings", .metavar = "FILE", .help = "as for run" },
	{ .name = "cache", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "no-cache", .kind = PARAM_SWITCH, .help = "as for create" },
	{ .name = "require-signature", .kind = PARAM_SWITCH, .help = "as for run" },
	{ .name = NULL },
};

const struct op race_row = {
	.name = "race",
	.page = "diff; ls",
	.usage = "[flags] -c NAME=COMMAND ...   |   diff RACE A B   |   ls",
	.summary = "try several ways at once, each in a sandbox of its own, and compare",
	.group = GROUP,
	.words = "diff|ls",
	.flags = OP_SETTINGS | OP_LIBRARIES,
	.params = race_params,
	.help = "An attempt that ends with 0 and passes the check can win. The check runs in a\n"
		"copy of it, so what it writes does not count; a number it writes to\n"
		"descriptor 3 is the score. --time holds for each command and each check: an\n"
		"attempt that hangs delays no other. Attempts stay as sandboxes RACE.NAME\n"
		"for a day. ls lists the last 50 races with what they answered (--json). Exit 0:\n"
		"one won; 1: none; 3 and 4 from promotion.\n"
		"\n"
		"Examples:\n"
		"  aisbx race --check 'make test' -c a='patch <a.diff' -c b='patch <b.diff'\n"
		"  aisbx race -f fixes.yaml --first --promote\n"
		"  aisbx race diff r-1a2b3c a b\n",
	.run = op_race_run,
};

const struct op gate_row = {
	.name = "gate",
	.usage = "check NAME [EXPR...]",
	.summary = "check whether conditions hold for a sandbox",
	.group = GROUP,
	.words = "check",
	.flags = OP_LIBRARIES,
	.help = "Conditions: tests==pass, no-network-violations, no-secrets, scan==clean,\n"
		"cmd:COMMAND, or\n"
		"one of diff.files, diff.lines, duration, peak_memory, exit_code with == != <\n"
		"<= > >= and a value. Those of the sandbox's profile (gates:) come first.\n"
		"Commands and tests run in a throw-away copy. Exit 0: all hold; 1: one does\n"
		"not; 2: one is no condition.\n"
		"\n"
		"Examples:\n"
		"  aisbx gate check fix-1 'diff.files<=20' 'cmd:make test'\n",
	.run = op_gate_run,
};

const struct op task_row = {
	.name = "task",
	.usage = "FILE|-",
	.summary = "run a task written as JSON: command, tests, gates; one object as answer",
	.group = GROUP,
	.flags = OP_LIBRARIES,
	.help = "Keys: command (a list) or script, or an intent (run, test, build, format, lint,\n"
		"bench) that the project's own files answer; profile, workspace, tests, gates,\n"
		"env, trace_id, and the settings of a run by their flags' names, but none that\n"
		"shows the host (ro, rw, rw-through) or a secret. Tests run in\n"
		"the sandbox after the command. Exit 0: all passed and holds; 1: not.\n"
		"\n"
		"Examples:\n"
		"  echo '{\"intent\":\"test\",\"gates\":[\"diff.files<=0\"]}' | aisbx task -\n",
	.run = op_task_run,
};

static const struct op_param job_params[] = {
	{ .name = "force",
	  .kind = PARAM_SWITCH,
	  .help = "run: also when nothing it works on has changed" },
	{ .name = NULL },
};

static const struct op_column job_columns[] = {
	{ "name", "NAME" },	{ "when", "WHEN" }, { "state", "STATE" }, { "last", "LAST RUN" },
	{ "result", "RESULT" }, { "next", "NEXT" }, { NULL, NULL },
};

const struct op job_row = {
	.name = "job",
	.page = "ls; show",
	.usage = "add FILE | ls | show|run|stop|rm|pause|resume NAME | watch",
	.summary = "do work unattended, at times or on changes, in a sandbox",
	.group = GROUP,
	.words = "add|ls|show|run|stop|rm|pause|resume|watch;@jobs|:files",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = job_params,
	.columns = job_columns,
	.help = "A job is a file in YAML. When: every: 15m, at: \"03:00\" (local time),\n"
		"on_change: src/**, on_commit: main, on_run_failed: true. What: command, script,\n"
		"race: FILE or task: FILE, with gates, tests, profile and the flags of run by\n"
		"their names. And then: promote: never (the default), ask, or gates, which\n"
		"applies by itself what passes them and could make nothing run. Bounds: budget:\n"
		"{runs_per_hour: 4, cpu_minutes_per_day: 30}, quiet: \"22:00-06:00\".\n"
		"on_failure: keep, pause, retry.\n"
		"\n"
		"add copies it into your configuration; a file from elsewhere has to be trusted\n"
		"first (aisbx profile trust FILE). Inputs that did not change (inputs: patterns,\n"
		"by default what git tracks) are not worked on twice. The daemon runs what is\n"
		"due; watch does the same in the foreground. run exits 0 when it passed, else 1.\n"
		"stop ends a run that is under way, with its sandbox; nothing of it is promoted.\n"
		"\n"
		"Examples:\n"
		"  aisbx profile trust nightly.yaml\n"
		"  aisbx job add nightly.yaml\n"
		"  aisbx job run nightly\n"
		"  aisbx job show nightly\n",
	.run = op_job_run,
};
