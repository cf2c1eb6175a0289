/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the verbs that look at code before it runs. */
#include "ops/rows/rows.h"

#define GROUP "Decide what is allowed"

/* In aisbx-full only: see table.c. */
#pragma weak op_scan_run
#pragma weak op_policy_run
#pragma weak op_sign_run

static const struct op_param scan_params[] = {
	{ .name = "lang",
	  .metavar = "LANGUAGE",
	  .help = "python, javascript or shell; default: told from the name and the first line",
	  .choices = "python|javascript|shell" },
	{ .name = "policy",
	  .metavar = "FILE",
	  .help = "what is forbidden; default: your scan.yaml, else the built-in policy" },
	{ .name = "format",
	  .metavar = "WORD",
	  .help = "text, json, or sarif for code hosts; default text",
	  .choices = "text|json|sarif" },
	{ .name = "fail-on",
	  .metavar = "SEVERITY",
	  .help = "exit 1 from this risk on: low, medium, high, critical; default medium",
	  .choices = "low|medium|high|critical" },
	{ .name = "content", .metavar = "TEXT", .help = "scan this text instead of a file" },
	{ .name = "explain", .metavar = "RULE", .help = "say what a rule is about, and no more" },
	{ .name = NULL },
};

const struct op scan_row = {
	.name = "scan",
	.usage = "FILE... | DIRECTORY | - [flags]",
	.summary = "read source code by a policy, before anything runs it",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_READ_ONLY,
	.params = scan_params,
	.help = "Parses Python, JavaScript and shell, follows imports, aliases and texts put\n"
		"together, and tells what the code would do: run other code or programs, use\n"
		"the network, delete, read credentials, come back by itself, hide. Comments\n"
		"and texts that are only shown raise nothing. What cannot be parsed is not\n"
		"analysable, and never clean. Exit 0 below --fail-on, else 1.\n"
		"\n"
		"Rules: not-analysable exec dynamic-import dynamic-name introspection\n"
		"subprocess network send reverse-shell delete device secret-read persistence\n"
		"privilege native deserialise obfuscation credential pipe-to-interpreter\n"
		"exhaustion spy forbidden-import forbidden-function forbidden-command\n"
		"forbidden-pattern; a policy sets their weight (docs/scan.md).\n"
		"\n"
		"Examples:\n"
		"  aisbx scan script.py\n"
		"  curl -s https://example.org/install.sh | aisbx scan --lang shell -\n"
		"  aisbx scan --policy policy.yaml --format sarif src > scan.sarif\n"
		"  aisbx scan --explain exec\n",
	.run = op_scan_run,
};

static const struct op_param sign_params[] = {
	{ .name = "lang",
	  .metavar = "LANGUAGE",
	  .choices = "python|javascript|shell",
	  .help = "what reads it, where neither its name nor its first line says" },
	{ .name = NULL },
};

const struct op sign_row = {
	.name = "sign",
	.usage = "FILE [--lang LANGUAGE]",
	.summary = "sign a script or program, for runs with --require-signature",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = sign_params,
	.help = "Writes FILE.sig beside FILE: an Ed25519 signature of its content with your\n"
		"key (~/.config/aisbx/signing.key, made at the first signature, yours alone).\n"
		"run --require-signature starts nothing but files whose signature holds, made\n"
		"with your key or one in ~/.config/aisbx/trusted-keys (one base64 word a\n"
		"line); one changed byte ends that. What was checked is what runs, and the\n"
		"language is signed, too: no other interpreter reads the file.\n"
		"\n"
		"Examples:\n"
		"  aisbx sign tool.py\n"
		"  aisbx run --require-signature -- python3 tool.py\n",
	.run = op_sign_run,
};

static const struct op_param policy_params[] = {
	{ .name = "dir",
	  .metavar = "DIR",
	  .help = "the policies of this directory instead of those in force" },
	{ .name = NULL },
};

const struct op policy_row = {
	.name = "policy",
	.usage = "check | test | eval FILE|- | explain FILE|- [--dir DIR]",
	.words = "check|test|eval|explain;:files",
	.summary = "check, test and ask the rules you wrote as code (Rego)",
	.group = GROUP,
	.flags = OP_LIBRARIES | OP_READ_ONLY,
	.params = policy_params,
	.help = "Policies are files *.rego in ~/.config/aisbx/policy and, for all users, in\n"
		"/etc/aisbx/policy.d. They are asked before run, exec, create, try, race, allow,\n"
		"promote, stage, calls of agents' tools and jobs; a denial of either denies. They\n"
		"can deny, demand a gate, approvals or a stronger driver, and lower limits, and\n"
		"never widen. What cannot be read or evaluated denies. stop, rm and undo are\n"
		"never asked about.\n"
		"\n"
		"check reads all of it and evaluates it once for every action. test runs rules\n"
		"that begin with test_, also of files that end in _test.rego. eval asks with the\n"
		"input in FILE and exits 4 when that is denied; explain also shows every rule and\n"
		"the lines that were evaluated. docs/policy.md has the fields of an input.\n"
		"\n"
		"Examples:\n"
		"  aisbx policy check\n"
		"  aisbx policy test --dir examples/policy\n"
		"  echo '{\"action\":\"run\",\"spec\":{\"allow\":[]}}' | aisbx policy explain -\n",
	.run = op_policy_run,
};
