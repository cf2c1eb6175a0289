/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that look back, and of the one that decides what should run. */
#include "ops/rows/rows.h"

#define GROUP "Look back and decide"

/* In aisbx-full only: see table.c. */
#pragma weak op_history_run
#pragma weak op_show_run
#pragma weak op_explain_run
#pragma weak op_logs_run
#pragma weak op_search_run
#pragma weak op_stats_run
#pragma weak op_archive_run
#pragma weak op_sync_run
#pragma weak op_top_run
#pragma weak op_events_run

static const struct op_param history_params[] = {
	{ .name = "status",
	  .metavar = "STATUS",
	  .help = "only runs that ended so",
	  .choices = "success|error|timeout|oom|killed|limit|denied|internal|running" },
	{ .name = "sandbox", .metavar = "NAME", .help = "only runs in that sandbox" },
	{ .name = "trace", .metavar = "ID", .help = "only runs with that trace id" },
	{ .name = "text", .metavar = "WORDS", .help = "only commands with that in them" },
	{ .name = "since",
	  .metavar = "TIME",
	  .help = "only later ones: 30m, 2h, 7d ago, or a date" },
	{ .name = "count",
	  .letter = 'n',
	  .metavar = "N",
	  .help = "at most that many; default 100" },
	{ .name = "before",
	  .metavar = "RUN",
	  .help = "only older ones than the run with this id: the next page" },
	{ .name = "from",
	  .metavar = "URL",
	  .help = "of all machines that sync to this database, postgres://..." },
	{ .name = NULL },
};

static const struct op_param logs_params[] = {
	{ .name = "follow",
	  .letter = 'f',
	  .kind = PARAM_SWITCH,
	  .help = "go on until the run ends" },
	{ .name = "service",
	  .metavar = "NAME",
	  .help = "of this service of a sandbox, which is named instead of a run" },
	{ .name = NULL },
};

static const struct op_param stats_params[] = {
	{ .name = "since",
	  .metavar = "TIME",
	  .help = "over runs since then: 2h, 7d ago, or a date" },
	{ .name = "from",
	  .metavar = "URL",
	  .help = "of all machines that sync to this database, postgres://..." },
	{ .name = "prometheus",
	  .kind = PARAM_SWITCH,
	  .help = "counts and histograms of all that is on record, in Prometheus' text form" },
	{ .name = "otlp",
	  .metavar = "URL",
	  .help = "print nothing, send these as metrics to this collector of OpenTelemetry, or to "
		  "that of the variables: env" },
	{ .name = "follow",
	  .letter = 'f',
	  .kind = PARAM_SWITCH,
	  .help = "with --otlp: again at each OTEL_METRIC_EXPORT_INTERVAL, and at the end" },
	{ .name = "serve",
	  .kind = PARAM_SWITCH,
	  .help = "what daemon --metrics starts: serve these on a socket it was given" },
	{ .name = NULL },
};

static const struct op_param guard_params[] = {
	{ .name = "run",
	  .kind = PARAM_SWITCH,
	  .help = "and do so, where no person is needed: directly, or in a sandbox" },
	{ .name = "profile", .metavar = "NAME|FILE", .help = "as for run" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "as for run" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "trace", .metavar = "ID", .help = "as for run" },
	{ .name = NULL },
};

const struct op history_row = {
	.name = "history",
	.page = "- --count --before --text --status --since --sandbox",
	.usage = "[flags]",
	.summary = "list what ran, newest first",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.params = history_params,
	.help = "Of all workspaces of this user. What is under way has the status running;\n"
		"what was killed without a word, killed.\n"
		"\n"
		"Examples:\n"
		"  aisbx history -n 10\n"
		"  aisbx history --status error --since 2h\n"
		"  aisbx history --text pytest --json\n",
	.run = op_history_run,
};

const struct op show_row = {
	.name = "show",
	.page = "*",
	.words = "@runs",
	.usage = "RUN",
	.summary = "show one run: result, figures, what was refused",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.help = "RUN is an id from `aisbx history`, or the beginning of one. With --json, the\n"
		"result object of the run without its output (`aisbx logs` has that).\n",
	.run = op_show_run,
};

const struct op explain_row = {
	.name = "explain",
	.page = "*",
	.words = "@runs",
	.usage = "RUN",
	.summary = "say in plain words what came of a run, why, and what to do",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.help = "RUN is an id from `aisbx history`, or the beginning of one. With --json, the\n"
		"sentences as `explanation`.\n",
	.run = op_explain_run,
};

const struct op logs_row = {
	.name = "logs",
	.page = "* --follow",
	.words = "@runs",
	.usage = "RUN [--follow]",
	.summary = "print the kept output of a run",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.params = logs_params,
	.help = "Both streams in the order they were written, up to 64 MiB a run. With --json,\n"
		"one object per piece: time, stream, text (or data_b64), run and trace id.\n"
		"\n"
		"Examples:\n"
		"  aisbx logs $(aisbx history -n 1 --json | cut -d'\"' -f4)\n",
	.run = op_logs_run,
};

const struct op stats_row = {
	.name = "stats",
	.page = "-",
	.usage = "[--since TIME] [--from URL] | --prometheus | --otlp URL [--follow]",
	.summary = "figures over the history: starts, failures, refusals, promotions",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.params = stats_params,
	.help = "With --prometheus what a collector of text files takes; `daemon --metrics`\n"
		"serves the same, `daemon --otlp` sends it. Labels hold words of aisbx alone: no\n"
		"path, argument or name.\n"
		"\n"
		"Examples:\n"
		"  aisbx stats --since 7d\n"
		"  aisbx stats --prometheus > aisbx.prom\n",
	.run = op_stats_run,
};

static const struct op_param top_params[] = {
	{ .name = "count",
	  .letter = 'n',
	  .metavar = "N",
	  .help = "look that often, a second apart; default: on a terminal until stopped, else "
		  "once" },
	{ .name = NULL },
};

const struct op top_row = {
	.name = "top",
	.page = "- --count",
	.usage = "[-n N]",
	.summary = "show what runs right now, and what it uses",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.params = top_params,
	.help = "Processor, memory, processes, disk, input and output of every run that has\n"
		"lived for a tenth of a second, with a warning at four fifths of a limit. With\n"
		"--json, one object per run and look.\n",
	.run = op_top_run,
};

static const struct op_param events_params[] = {
	{ .name = "follow",
	  .letter = 'f',
	  .kind = PARAM_SWITCH,
	  .help = "go on with what happens from now, or from --since on" },
	{ .name = "since",
	  .metavar = "ID",
	  .help = "only what came after that event; 0: all; sent: what --otlp URL did not send "
		  "yet" },
	{ .name = "otlp",
	  .metavar = "URL",
	  .help = "print nothing, send runs that ended as spans to this collector" },
	{ .name = NULL },
};

const struct op events_row = {
	.name = "events",
	.usage = "[--follow] [--since ID]",
	.summary = "print what happened: runs, refusals, limits, snapshots, promotions",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES | OP_CLI_ONLY,
	.params = events_params,
	.help = "Of all workspaces of this user, oldest first, from the record that every run\n"
		"leaves; no daemon is needed. Each event has an id; a reader that was stopped\n"
		"goes on with --since and the last one it had. What was refused to a run, and the\n"
		"limits it met, come with its end. With --json, one object a line: id, time,\n"
		"event (created, started, denied, limit, ended, snapshot, promoted,\n"
		"approval-asked and others), run_id, trace_id, sandbox, and what else there is.\n"
		"\n"
		"Examples:\n"
		"  aisbx events --follow --json\n"
		"  aisbx events --since 1742\n",
	.run = op_events_run,
};

static const struct op_param search_params[] = {
	{ .name = "failed", .kind = PARAM_SWITCH, .help = "only runs that did not end well" },
	{ .name = "since",
	  .metavar = "TIME",
	  .help = "only later ones: 30m, 2h, 7d ago, or a date" },
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "only runs there" },
	{ .name = "kind",
	  .metavar = "KIND",
	  .help = "only runs, or only events of that kind",
	  .choices = "run|snapshot|promote|undo|task|race|stage|conflict|commit|job|guard" },
	{ .name = "limit",
	  .letter = 'n',
	  .metavar = "N",
	  .help = "at most that many, 1 to 1000; default 10" },
	{ .name = NULL },
};

const struct op search_row = {
	.name = "search",
	.usage = "WORDS... [--failed] [--since TIME] [-C DIR] [--kind KIND] [-n N]",
	.summary = "find runs by what they did and how they failed",
	.group = GROUP,
	.flags = OP_READ_ONLY | OP_LIBRARIES,
	.params = search_params,
	.help = "In commands, refusals, the end of kept output, names of changed files, notes of\n"
		"snapshots, tasks and other events. Errors and commands are also found by what\n"
		"they mean: a port that is taken finds `Address already in use`. Those with all\n"
		"of the words come first. With --json, one object a line.\n"
		"\n"
		"Examples:\n"
		"  aisbx search port already taken\n"
		"  aisbx search --failed --since 7d tests database\n",
	.run = op_search_run,
};

static const struct op_param sync_params[] = {
	{ .name = "to",
	  .metavar = "URL",
	  .help = "the database: postgres://[USER@]HOST[:PORT]/DATABASE[?OPTIONS]" },
	{ .name = "every",
	  .metavar = "TIME",
	  .help = "and again after each such pause, until it is ended; what fails is a note" },
	{ .name = "new-edge",
	  .kind = PARAM_SWITCH,
	  .help = "from now on as another machine: for a copy of a state directory" },
	{ .name = NULL },
};

const struct op sync_row = {
	.name = "sync",
	.usage = "--to URL [--every TIME] [--new-edge]",
	.summary = "send the record to a database that several machines share",
	.group = "Look after this machine",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = sync_params,
	.help = "Runs, results, refusals, promotions, stages, approvals: what is on record here\n"
		"and not yet there, each once, however often it is interrupted. Output of\n"
		"commands and contents of files stay here; secrets were taken out before\n"
		"anything was recorded. The first sync makes the tables, later ones update them.\n"
		"Password, certificates and TLS are libpq's: ~/.pgpass, PGSSLMODE, services. A\n"
		"password in URL is refused, as every user of this machine could read it.\n"
		"\n"
		"Examples:\n"
		"  aisbx sync --to postgres://edge@db.example.org/aisbx\n"
		"  aisbx history --from postgres://reader@db.example.org/aisbx\n"
		"  aisbx stats --from postgres://reader@db.example.org/aisbx --since 7d\n",
	.run = op_sync_run,
};

static const struct op_param archive_params[] = {
	{ .name = "from",
	  .metavar = "URL",
	  .help = "this archive, file:/DIR or s3://BUCKET/PREFIX; default archive of config.yaml" },
	{ .name = "day",
	  .metavar = "DAY",
	  .help = "only what was archived on that day, such as 2026-11-18" },
	{ .name = "all", .kind = PARAM_SWITCH, .help = "restore everything" },
	{ .name = NULL },
};

static const struct op_column archive_columns[] = {
	{ "day", "DAY" },	  { "runs", "RUNS" },	 { "logs", "LOGS" },
	{ "raw_bytes", "BYTES" }, { "bytes", "STORED" }, { NULL, NULL },
};

const struct op archive_row = {
	.name = "archive",
	.usage = "ls [DAY] | show ID | restore ID... | verify | pin [ID...] | unpin ID...",
	.summary = "see what gc archived, check it, get it back",
	.group = "Look after this machine",
	.words = "ls|show|restore|verify|pin|unpin",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = archive_params,
	.columns = archive_columns,
	.help = "Where ~/.config/aisbx/config.yaml has `archive: file:/DIR` or\n"
		"`archive: s3://BUCKET/PREFIX`, gc puts there what it removes of the record:\n"
		"objects and manifests named by their sha256, written once, read back or\n"
		"confirmed before anything is removed here. Several machines may share one.\n"
		"restore takes runs and their output back, all or nothing, and pins them:\n"
		"what is pinned stays whatever its age; pin takes ids and names of sandboxes.\n"
		"verify reads everything and compares digests. Nothing in an archive is\n"
		"trusted: damaged or oversized content is refused. Secrets were taken out\n"
		"before anything was recorded. S3 has its keys and region from AWS's usual\n"
		"variables and files, and another server than Amazon's by AWS_ENDPOINT_URL.\n"
		"\n"
		"Examples:\n"
		"  aisbx archive ls\n"
		"  aisbx archive restore 01M7F73D4QZ8V0H6W3N5T2K9XB\n"
		"  aisbx archive verify --from file:/mnt/archive\n",
	.run = op_archive_run,
};

const struct op guard_row = {
	.name = "guard",
	.usage = "[--run] [--] CMD [ARGS]",
	.summary = "decide whether a command may run directly, in a sandbox, or at all",
	.group = GROUP,
	.flags = OP_COMMAND | OP_SETTINGS,
	.params = guard_params,
	.help = "direct: it only reads, and so do its options (exit 0). sandbox: anything else\n"
		"(exit 1). ask: it uses the network or writes outside the workspace; deny: it\n"
		"touches a block device, a credential or our own store (both exit 4). On a\n"
		"busy machine direct becomes sandbox. Every decision is on record.\n"
		"A text for a shell (bash -c), and what env, xargs, timeout or sudo start, is\n"
		"what its parts are: the strictest decides, and the reason names it. What\n"
		"cannot be parsed is never direct.\n"
		"\n"
		"Examples:\n"
		"  aisbx guard -- ls -la\n"
		"  aisbx guard -- bash -c 'cd src && grep -n main app.c | head'\n"
		"  aisbx guard --json -- rm -rf build\n"
		"  aisbx guard --run -- make test\n",
	.run = op_guard_run,
};
