/* SPDX-License-Identifier: Apache-2.0 */
/* argv into a call: every form of a flag, and one sentence for every mistake. */
#include "front/cli/options.h"
#include "tests/tap.h"

static const struct op_param params[] = {
	{ .name = "workspace", .letter = 'C', .metavar = "DIR", .help = "a directory" },
	{ .name = "yes", .letter = 'y', .kind = PARAM_SWITCH, .help = "a switch" },
	{ .name = "quiet", .letter = 'q', .kind = PARAM_SWITCH, .help = "a switch" },
	{ .name = NULL },
};

static const struct op runs = { .name = "run",
				.flags = OP_COMMAND | OP_SETTINGS,
				.params = params };
static const struct op lists = { .name = "ls", .params = params };

static struct op_call call;
static struct error err;

/* The call is released by the next parse or at the end. */
static int parse(const struct op *op, const char *const *words)
{
	char *argv[16] = { NULL };

	for (int i = 0; words[i]; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	op_call_done(&call);
	op_call_init(&call, op, NULL);
	err = (struct error){ .code = ERROR_NONE };
	return options_parse(&call, argv, &err);
}

#define PARSE(op, ...) parse(&(op), (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static void test_forms(void)
{
	tap_ok(PARSE(runs, "--mem", "512m", "--", "true") == 0 &&
		       call.settings.mem_bytes == INT64_C(512) << 20,
	       "--flag VALUE");
	tap_ok(PARSE(runs, "--mem=2m") == 0 && call.settings.mem_bytes == 2 << 20, "--flag=VALUE");
	tap_ok(PARSE(runs, "-C", "/x") == 0 && strcmp(op_arg_text(&call, "workspace"), "/x") == 0,
	       "-C DIR");
	tap_ok(PARSE(runs, "-C/x") == 0 && strcmp(op_arg_text(&call, "workspace"), "/x") == 0,
	       "-CDIR");
	tap_ok(PARSE(runs, "-yqC", "/x") == 0 && op_arg_switch(&call, "yes") &&
		       op_arg_switch(&call, "quiet") && op_arg_text(&call, "workspace"),
	       "letters behind one dash");
	tap_ok(PARSE(runs, "--env", "A=1", "--env=B=2=3") == 0 && call.settings.env.count == 2 &&
		       strcmp(call.settings.env.items[1], "B=2=3") == 0,
	       "lists grow, and only the first = divides");
	tap_ok(PARSE(runs, "--json") == 0 && call.json, "--json");
	tap_ok(PARSE(runs, "-h") == 0 && op_arg_switch(&call, "help"), "-h");
	tap_ok(PARSE(lists, "a", "-y", "b", "--", "-c") == 0 && call.words.count == 3 &&
		       strcmp(call.words.items[2], "-c") == 0,
	       "words and flags mix; -- ends flags");
}

static void test_command(void)
{
	tap_ok(PARSE(runs, "--", "sh", "-c", "a  b", "--", "") == 0 && call.command.count == 5 &&
		       strcmp(call.command.items[2], "a  b") == 0 &&
		       strcmp(call.command.items[3], "--") == 0 && !*call.command.items[4],
	       "the command is passed exactly");
	tap_ok(PARSE(runs) == 0 && call.command.count == 0, "no command is the verb's business");
	tap_ok(PARSE(runs, "ls", "-l", "--", "--json") == 0 && call.command.count == 4 &&
		       strcmp(call.command.items[2], "--") == 0 && !call.json,
	       "the first word that is no flag begins the command, and all behind it is its own");
	tap_ok(PARSE(runs, "-") == 0 && call.command.count == 1, "a lone dash is a word");
}

static void test_mistakes(void)
{
	tap_ok(PARSE(runs, "--memm", "1g") < 0, "an unknown flag is refused");
	tap_is_str(err.text, "--memm: unknown flag; did you mean --mem?", "with the nearest name");
	tap_is_int(err.code, ERROR_USAGE, "as a usage error");
	tap_ok(PARSE(runs, "--nope") < 0 && !strchr(err.text, '\n'), "one line");
	tap_ok(PARSE(lists, "--mem", "1g") < 0, "settings are for verbs that take them");
	tap_ok(PARSE(runs, "-z") < 0 && strstr(err.text, "-z: unknown flag"), "an unknown letter");
	tap_ok(PARSE(runs, "--mem", "--", "true") < 0 && strstr(err.text, "--mem needs a value"),
	       "a forgotten value does not swallow the --");
	tap_ok(PARSE(runs, "-C") < 0 && strstr(err.text, "-C DIR"), "a letter without its value");
	tap_ok(PARSE(runs, "--yes=no") < 0 && strstr(err.text, "takes no value"),
	       "a switch with a value");
	tap_ok(PARSE(runs, "--workspace=") < 0, "an empty value");
	tap_ok(PARSE(runs, "--mem", "5GiBB") < 0 && strstr(err.text, "--mem"),
	       "a bad value names its flag");
	tap_ok(PARSE(runs, "--entrypoint", "x") < 0, "keys of profiles are not flags");
	tap_ok(PARSE(runs, "---") < 0, "three dashes are a flag nobody has");
	tap_ok(PARSE(runs, "--=x") < 0, "a flag without a name");
}

static void test_json_wish(void)
{
	char json[] = "--json", end[] = "--", bad[] = "--bad";
	char *const early[] = { bad, json, NULL }, *const late[] = { end, json, NULL };

	char echo[] = "echo", mem[] = "--mem", size[] = "1G", name[] = "box";
	char *const behind[] = { bad, echo, json, NULL };
	char *const before[] = { mem, size, json, bad, echo, NULL };
	char *const named[] = { name, json, bad, NULL };
	char *const unnamed[] = { name, bad, echo, json, NULL };

	tap_ok(options_want_json(NULL, early), "--json is seen beside nonsense");
	tap_ok(!options_want_json(NULL, late), "--json behind -- is the command's");
	tap_ok(!options_want_json(op_find("run"), behind),
	       "as it is behind the command's first word");
	tap_ok(options_want_json(op_find("run"), before), "which no flag's value is");
	tap_ok(options_want_json(op_find("exec"), named), "nor is a sandbox's name");
	tap_ok(!options_want_json(op_find("exec"), unnamed), "behind which the command begins");
	tap_ok(options_want_json(op_find("ls"), behind), "other verbs have no command");
}

int main(void)
{
	test_forms();
	test_command();
	test_mistakes();
	test_json_wish();
	op_call_done(&call);
	return tap_done();
}
