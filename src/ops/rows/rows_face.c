/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that serve programs, and of the files they read and write. */
#include "ops/rows/rows.h"

#define GROUP "Serve programs"

/* In aisbx-full only: see table.c. The first is a face itself, in front. */
#pragma weak op_mcp_run
#pragma weak op_daemon_run
#pragma weak op_ui_run
#pragma weak op_queue_run
#pragma weak op_files_run
#pragma weak op_agent_run
#pragma weak op_hook_run
#pragma weak op_serve_run
#pragma weak op_setup_run

/* Of all that serve; docs/observe.md. */
#define LOG_PARAMS                                                                             \
	{ .name = "log-format",                                                                \
	  .metavar = "WORD",                                                                   \
	  .help = "the log on stderr: text (the default) or json, one object a line",          \
	  .choices = "text|json" },                                                            \
	{                                                                                      \
		.name = "log-level", .metavar = "WORD",                                        \
		.help = "what is logged: error, warning, notice (the default), info or debug", \
		.choices = "error|warning|notice|info|debug"                                   \
	}

static const struct op_param mcp_params[] = {
	{ .name = "profile",
	  .kind = PARAM_LIST,
	  .metavar = "NAME|FILE",
	  .help = "what clients get at most; may be repeated, they choose among those, the first "
		  "by "
		  "default" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "the directory worked in; default: where it is started" },
	{ .name = "http",
	  .metavar = "ADDRESS",
	  .help = "serve on the loopback instead: 127.0.0.1:PORT; clients need the token" },
	{ .name = "promote-policy",
	  .metavar = "WORD",
	  .help = "requests to promote: never, ask (the default), or gates: where those hold",
	  .choices = "never|ask|gates" },
	{ .name = "owner",
	  .metavar = "NAME",
	  .help = "whose sandboxes clients see and make; default: one a server" },
	{ .name = "owner-mem",
	  .metavar = "SIZE",
	  .help = "memory that all running sandboxes of the owner may use together; default: "
		  "three quarters of the machine's" },
	{ .name = "tools",
	  .metavar = "WORD",
	  .help = "which tools clients are shown: core (the default: ten, one of which names "
		  "the others) or all",
	  .choices = "core|all" },
	{ .name = "cache",
	  .kind = PARAM_SWITCH,
	  .help = "let clients use and feed your warm caches, with profiles that have them" },
	{ .name = "all", .kind = PARAM_SWITCH, .help = "let clients see every sandbox of yours" },
	LOG_PARAMS,
	{ .name = NULL },
};

const struct op mcp_row = {
	.name = "mcp",
	.usage = "[--profile P] [--promote-policy WORD] [--owner NAME | --all]",
	.summary = "serve agents over the Model Context Protocol",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = mcp_params,
	.help = "Speaks with one client on standard input and output, until that ends. The client\n"
		"gets tools to run commands, keep sandboxes, save, rewind, branch, compare and\n"
		"ask for promotion; never more than the profile given here allows, and no\n"
		"sandboxes but its own. What it makes goes after a day unless it asks otherwise.\n"
		"\n"
		"Profiles are read at the start: when a file of theirs changes, calls are refused\n"
		"until the server is started again. A profile in the workspace is refused, and so\n"
		"is the use of a sandbox that may do more than these profiles allow.\n"
		"\n"
		"Examples:\n"
		"  aisbx mcp --profile dev\n"
		"  claude mcp add aisbx -- aisbx mcp --profile dev\n",
	.run = op_mcp_run,
};

static const struct op_param daemon_params[] = {
	{ .name = "pool",
	  .metavar = "N",
	  .help = "keep so many sandboxes ready, 1 to 64; default two per core" },
	{ .name = "http",
	  .metavar = "ADDRESS",
	  .help = "serve a page on the loopback, 127.0.0.1:PORT; ui prints its address" },
	{ .name = "otlp",
	  .metavar = "URL",
	  .help = "send runs that end as spans, and figures as metrics, to this collector of "
		  "OpenTelemetry: https, or http on the loopback; env: as "
		  "OTEL_EXPORTER_OTLP_ENDPOINT says" },
	{ .name = "metrics",
	  .metavar = "ADDRESS",
	  .help = "serve figures for Prometheus at 127.0.0.1:PORT/metrics: counts only, which "
		  "every user of this machine can read; off by default" },
	{ .name = "max-running",
	  .metavar = "N",
	  .help = "let so many run at once; default by cores and memory, and fewer under "
		  "pressure" },
	{ .name = "queue", .metavar = "N", .help = "let so many more wait; default 256" },
	{ .name = "rate",
	  .metavar = "N",
	  .help = "let each caller start so many a minute; default any number" },
	LOG_PARAMS,
	{ .name = NULL },
};

static const struct op_column daemon_columns[] = {
	{ "running", "RUNNING" }, { "pid", "PID" },	     { "pool", "POOL" },
	{ "ready", "READY" },	  { "plans", "PLANS" },	     { "given", "GIVEN" },
	{ "cold", "COLD" },	  { "made", "MADE" },	     { "failed", "FAILED" },
	{ "max_running", "MAX" }, { "busy", "BUSY" },	     { "waiting", "WAITING" },
	{ "refused", "REFUSED" }, { "uptime_ms", "UPTIME" }, { NULL, NULL },
};

const struct op daemon_row = {
	.name = "daemon",
	.page = "status",
	.usage = "[start|stop|status|reload] [--pool N] [--max-running N] [--queue N] [--rate N] "
		 "[--http ADDRESS] [--metrics ADDRESS] [--otlp URL]",
	.words = "start|stop|status|reload",
	.summary = "keep sandboxes ready, so that run starts faster",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = daemon_params,
	.columns = daemon_columns,
	.help = "Everything works without it. In the foreground by default; start puts it into\n"
		"the background. run takes a ready sandbox where the plan it has just made is\n"
		"the one that sandbox was made of; its result says start: pool, else cold. Each\n"
		"is used once. Runs from where the daemon was started find some at once; of any\n"
		"other kind the first starts cold. reload makes what is ready anew.\n"
		"\n"
		"Starts with a network, secrets, binds, a filter of yours or a named sandbox are\n"
		"always cold. run --no-daemon and AISBX_DAEMON=0 do without. The daemon serves\n"
		"the user who started it, by a socket in $XDG_RUNTIME_DIR/aisbx. Root has none:\n"
		"whether a process of root's is confined by Landlock cannot be seen.\n"
		"\n"
		"Calls beyond --max-running wait for their turn: by priority (AISBX_PRIORITY is\n"
		"low, normal or high), then in turns between callers, which are sessions. Those\n"
		"beyond --queue are refused. queued_ms of a result is what it waited.\n"
		"\n"
		"Examples:\n"
		"  aisbx daemon start\n"
		"  aisbx daemon --pool 16\n"
		"  aisbx daemon start --metrics 127.0.0.1:9464\n"
		"  aisbx daemon status --json\n",
	.run = op_daemon_run,
};

static const struct op_param ui_params[] = {
	{ .name = "serve",
	  .kind = PARAM_SWITCH,
	  .help = "what daemon --http starts: serve the page on sockets it was given" },
	{ .name = NULL },
};

const struct op ui_row = {
	.name = "ui",
	.usage = "",
	.summary = "print an address that opens the daemon's page in a browser",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = ui_params,
	.help = "A daemon that was started with --http has a page: sandboxes as they run, output,\n"
		"snapshots, differences, what waits for a decision, history. The address holds a\n"
		"token that opens the page once, within two minutes. Only processes of yours that\n"
		"are as free as the daemon are given one; a sandbox, another user and another web\n"
		"page are not.\n"
		"\n"
		"Examples:\n"
		"  aisbx daemon start --http 127.0.0.1:8380\n"
		"  aisbx ui\n",
	.run = op_ui_run,
};

static const struct op_column queue_columns[] = {
	{ "state", "STATE" },	    { "pid", "PID" },	     { "caller", "CALLER" },
	{ "priority", "PRIORITY" }, { "since_ms", "SINCE" }, { NULL, NULL },
};

const struct op queue_row = {
	.name = "queue",
	.usage = "",
	.words = "",
	.summary = "show which calls the daemon lets run, and which wait",
	.group = GROUP,
	.flags = OP_LIBRARIES,
	.columns = queue_columns,
	.help = "Those that run come first, with how long they do; then those that wait, with how\n"
		"long they have. caller is the session of the process that asked. Without a\n"
		"daemon nothing waits, and the list is empty.\n"
		"\n"
		"Examples:\n"
		"  aisbx queue\n"
		"  aisbx queue --json\n",
	.run = op_queue_run,
};

static const struct op_param files_params[] = {
	{ .name = "offset", .metavar = "N", .help = "read: from this byte on" },
	{ .name = "limit", .metavar = "N", .help = "read: at most so many bytes; default 65536" },
	{ .name = "encoding",
	  .metavar = "WORD",
	  .help = "utf-8, or base64: how the content is written",
	  .choices = "utf-8|base64" },
	{ .name = "old", .metavar = "TEXT", .help = "edit: text that is there, exactly" },
	{ .name = "new", .metavar = "TEXT", .help = "edit: text in its place" },
	{ .name = "all", .kind = PARAM_SWITCH, .help = "edit: every occurrence" },
	{ .name = NULL },
};

const struct op files_row = {
	.name = "files",
	.usage = "read|write|edit NAME PATH | ls NAME [PATH]",
	.words = "read|write|edit|ls;@sandboxes",
	.summary = "read, write, edit and list files of a sandbox",
	.group = GROUP,
	.flags = OP_LIBRARIES,
	.params = files_params,
	.help = "Paths are those a command in the sandbox sees; relative ones start at the\n"
		"workspace. write takes the content from standard input and makes directories on\n"
		"the way. edit replaces a text that is there once, or everywhere with --all.\n"
		"\n"
		"Examples:\n"
		"  aisbx files read fix-1 src/main.c\n"
		"  echo hello | aisbx files write fix-1 notes/today.txt\n"
		"  aisbx files edit fix-1 Makefile --old -O2 --new -O3\n",
	.run = op_files_run,
};

static const struct op_param serve_params[] = {
	{ .name = "http",
	  .metavar = "ADDRESS",
	  .help = "the loopback's address and port, 127.0.0.1:PORT; default any free port" },
	{ .name = "detach",
	  .letter = 'd',
	  .kind = PARAM_SWITCH,
	  .help = "serve in the background; print the lines once it listens" },
	{ .name = "profile",
	  .kind = PARAM_LIST,
	  .metavar = "NAME|FILE",
	  .help = "limits and rules of the sandboxes; may be repeated, a template names one of "
		  "those, the first by default" },
	{ .name = "no-net", .kind = PARAM_SWITCH, .help = "the same as --net none" },
	{ .name = "env-fd", .metavar = "N", .help = "as for run" },
	LOG_PARAMS,
	{ .name = NULL },
};

const struct op serve_row = {
	.name = "serve",
	.usage = "e2b [--http ADDRESS] [--detach] [--profile P] [flags of create]",
	.words = "e2b",
	.summary = "serve programs that were written for E2B, with sandboxes of this machine",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY | OP_SETTINGS,
	.params = serve_params,
	.help = "Speaks what E2B's own libraries speak, over HTTP on the loopback. Prints\n"
		"lines for a shell to eval; the libraries then find this server instead of the\n"
		"cloud. Each Sandbox.create is a sandbox with an empty workspace and, of network\n"
		"and limits, what serve was given. They go with their timeout, with kill, and\n"
		"with the server.\n"
		"docs/e2b.md says what is served and what is not.\n"
		"\n"
		"Examples:\n"
		"  eval \"$(aisbx serve e2b --detach)\" && python3 my-e2b-program.py\n"
		"  aisbx serve e2b --http 127.0.0.1:3000 --allow @pypi --mem 2g\n",
	.run = op_serve_run,
};

static const struct op_param hook_params[] = {
	{ .name = "profile",
	  .metavar = "NAME|FILE",
	  .help = "of the session's sandbox, when it is made; default dev" },
	{ .name = "write",
	  .metavar = "workspace",
	  .help = "as for exec, with each command and file of the session",
	  .choices = "workspace" },
	{ .name = "pass-tool",
	  .kind = PARAM_LIST,
	  .metavar = "TOOL",
	  .help = "let this tool of the agent through, although aisbx does not know it; may be "
		  "repeated" },
	{ .name = NULL },
};

const struct op hook_row = {
	.name = "hook",
	.usage = "claude-code|codex [-- COMMAND]",
	.words = "claude-code|codex",
	.summary = "answer a coding agent's hook: its commands run in its session's sandbox",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY | OP_COMMAND | OP_WORDS,
	.params = hook_params,
	.help = "Reads the agent's JSON on standard input. A shell command becomes exec in the\n"
		"session's own sandbox, made at its first use in the session's directory. Files\n"
		"are read, written and edited in the sandbox where the agent can be given the\n"
		"answer; other tools that reach files are refused. What is not understood is\n"
		"refused, with exit status 2. The end of a session asks for a promotion.\n"
		"\n"
		"With -- COMMAND, one word, the command runs at once: what a program named by\n"
		"CLAUDE_CODE_SHELL_PREFIX does with its argument.\n"
		"\n"
		"Examples:\n"
		"  aisbx hook claude-code < pre-tool-use.json\n"
		"  aisbx hook claude-code -- 'make test'\n",
	.run = op_hook_run,
};

static const struct op_param agent_params[] = {
	{ .name = "login",
	  .metavar = "NAME",
	  .help = "the stored secret that requests get; default: the agent's variable in small "
		  "letters, anthropic_api_key" },
	{ .name = "login-file",
	  .metavar = "FILE",
	  .help = "a file in your home with the agent's token, for an agent that has it there "
		  "only: it can be read inside" },
	{ .name = "name",
	  .metavar = "NAME",
	  .help = "of the sandbox; one that is there is entered again, with its own settings" },
	{ .name = "profile",
	  .metavar = "NAME|FILE",
	  .help = "of the sandbox, when it is made; default dev" },
	{ .name = "workspace",
	  .letter = 'C',
	  .metavar = "DIR",
	  .help = "the directory worked in; default: the enclosing git root or the current one" },
	{ .name = NULL },
};

const struct op agent_row = {
	.name = "agent",
	.usage = "[flags] -- AGENT [ARGS]",
	.summary = "run a coding agent itself in a sandbox, its login used and not held",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY | OP_COMMAND | OP_SETTINGS | OP_RUN_CODES,
	.params = agent_params,
	.help = "AGENT: claude, codex, gemini, opencode, goose, aider, or what you have a row for\n"
		"in ~/.config/aisbx/agents.tsv. Its sandbox reaches the model's host alone, and\n"
		"--allow adds others. Requests to that host get the login outside: store it with\n"
		"aisbx secret set. Where the agent has a token in a file only, --login-file gives\n"
		"it that file; in the end it is written back when nothing but tokens, times and\n"
		"numbers in it changed. What the agent changed waits in aisbx promotions; what\n"
		"git ignores or lies outside of the workspace stays in the sandbox.\n"
		"\n"
		"Examples:\n"
		"  aisbx secret set anthropic_api_key < key.txt && aisbx agent -- claude\n"
		"  aisbx agent --allow @npm --name fix-1 -- codex exec 'mend the tests'\n"
		"  aisbx agent --login-file ~/.codex/auth.json -- codex\n",
	.run = op_agent_run,
};

#define AGENTS "claude-code|codex|cursor|gemini|opencode|goose|aider"

static const struct op_param setup_params[] = {
	{ .name = "mcp", .kind = PARAM_SWITCH, .help = "only the MCP server" },
	{ .name = "hook",
	  .kind = PARAM_SWITCH,
	  .help = "only the hook: what the agent's own tools do" },
	{ .name = "write",
	  .metavar = "workspace",
	  .help = "the hook gets this flag",
	  .choices = "workspace" },
	{ .name = "project",
	  .kind = PARAM_SWITCH,
	  .help = "in the files of the current directory, instead of yours for all projects" },
	{ .name = "dry-run",
	  .letter = 'n',
	  .kind = PARAM_SWITCH,
	  .help = "show what would change, as a diff; change nothing" },
	{ .name = "remove",
	  .kind = PARAM_SWITCH,
	  .help = "take back what setup wrote, for the agent or for all" },
	{ .name = NULL },
};

const struct op setup_row = {
	.name = "setup",
	.usage = "AGENT | --remove [AGENT]",
	.words = AGENTS,
	.summary = "tell a coding agent about aisbx, in the files it reads",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = setup_params,
	.help = "AGENT: " AGENTS ".\n"
		"Adds an MCP server and, where the agent has them, hooks to its own files;\n"
		"without --mcp or --hook whatever it has of both. Everything else in these files\n"
		"stays as it is, comments and order included. What was written is recorded:\n"
		"--remove takes back exactly that. The hook refuses a tool when aisbx is missing,\n"
		"fails or is late. What is covered, and what is not, is printed.\n"
		"\n"
		"Examples:\n"
		"  aisbx setup claude-code --dry-run\n"
		"  aisbx setup codex --hook\n"
		"  aisbx setup --remove\n",
	.run = op_setup_run,
};
