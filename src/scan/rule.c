/* SPDX-License-Identifier: Apache-2.0 */
/* What the scanner can find, each with a name, a weight and words for people. */
#include "scan/rule.h"

#include <string.h>

static const char *const severities[] = { "none", "low", "medium", "high", "critical" };

const char *scan_severity_name(enum scan_severity severity)
{
	return severities[severity];
}

int scan_severity_named(const char *name)
{
	for (int i = 0; i <= SEVERITY_CRITICAL; i++) {
		if (strcmp(severities[i], name) == 0)
			return i;
	}
	return -1;
}

const struct scan_rule_row scan_rules[SCAN_RULES] = {
	[RULE_NOT_ANALYSABLE] = { "not-analysable", SEVERITY_HIGH, "cannot be analysed",
				  "have a person read it, or mend it so that it can be parsed",
				  "What the scanner cannot read it cannot vouch for: broken text, "
				  "an unknown "
				  "language, a file too large, too deep or too slow to parse is "
				  "never "
				  "called clean." },
	[RULE_EXEC] = { "exec", SEVERITY_HIGH, "runs text as code",
			"call the function itself; for data use a parser such as json",
			"Code made from text while the program runs (eval, exec, compile, "
			"Function, a "
			"shell's eval) can be anything, and none of it was there to be read." },
	[RULE_DYNAMIC_IMPORT] = { "dynamic-import", SEVERITY_HIGH,
				  "loads a module whose name is made while it runs",
				  "import the module by its name",
				  "A name that is put together at run time hides which module is "
				  "meant." },
	[RULE_DYNAMIC_NAME] = { "dynamic-name", SEVERITY_HIGH,
				"reaches a function by a name made from text",
				"write the name as it is",
				"getattr(os, \"sys\" + \"tem\") and its relatives serve to be "
				"overlooked." },
	[RULE_INTROSPECTION] = { "introspection", SEVERITY_HIGH,
				 "climbs through the interpreter's internals",
				 "import what is needed by its name",
				 "__subclasses__, __globals__, constructor.constructor and "
				 "process.binding are "
				 "the usual ways out of a restricted interpreter." },
	[RULE_SUBPROCESS] = { "subprocess", SEVERITY_MEDIUM, "starts other programs",
			      "do it within the language, or allow this function in the policy",
			      "What another program does is out of the scanner's sight; text given "
			      "to a "
			      "shell also lets data become commands." },
	[RULE_NETWORK] = { "network", SEVERITY_LOW, "uses the network",
			   "name the places it needs with --allow, or take the input from a file",
			   "A sandbox has no network unless it is given one; code that wants one "
			   "should "
			   "say why." },
	[RULE_SEND] = { "send", SEVERITY_HIGH, "sends data away",
			"write the result to a file; a person can carry it on",
			"Files, variables or output sent to another machine are how secrets are "
			"lost." },
	[RULE_REVERSE_SHELL] = { "reverse-shell", SEVERITY_CRITICAL,
				 "gives another machine a shell on this one", "remove it",
				 "A connection wired to a shell's input and output has no other "
				 "use." },
	[RULE_DELETE] = { "delete", SEVERITY_MEDIUM, "deletes files",
			  "delete by exact relative names below the workspace",
			  "Deleting whole trees, absolute places or a home directory is rarely "
			  "what a "
			  "task asks for." },
	[RULE_DEVICE] = { "device", SEVERITY_CRITICAL, "writes to a device or makes a file system",
			  "remove it; a sandbox has no disks",
			  "Writing to a disk below its file system destroys it." },
	[RULE_SECRET_READ] = { "secret-read", SEVERITY_HIGH, "reads credentials",
			       "use --secret for what the task really needs",
			       "Keys, tokens, password files and browser stores are what malicious "
			       "code "
			       "looks for first." },
	[RULE_PERSISTENCE] = { "persistence", SEVERITY_HIGH, "arranges to be run again by itself",
			       "leave start-up files, cron and services to their owner",
			       "Shell start-up files, cron, systemd units, git hooks and "
			       "authorized_keys make "
			       "code come back after the task is over." },
	[RULE_PRIVILEGE] = { "privilege", SEVERITY_HIGH, "asks for or hands out more rights",
			     "run with the rights there are",
			     "sudo, setuid bits, world-writable modes and changed owners outlive "
			     "the task." },
	[RULE_NATIVE] = { "native", SEVERITY_MEDIUM, "calls native code or memory",
			  "use a module of the language",
			  "Foreign function interfaces go around everything an interpreter "
			  "checks." },
	[RULE_DESERIALISE] = { "deserialise", SEVERITY_MEDIUM,
			       "turns bytes into objects that can run code", "use json",
			       "pickle, marshal and their relatives run what the bytes say." },
	[RULE_OBFUSCATION] = { "obfuscation", SEVERITY_MEDIUM, "hides what it says",
			       "write it in plain text, or keep data in a file of its own",
			       "Long base64 or hex texts and texts made of escapes are there to be "
			       "unpacked later, unseen." },
	[RULE_CREDENTIAL] = { "credential", SEVERITY_MEDIUM, "holds a credential",
			      "keep it out of the source: --secret NAME=FILE hands it over",
			      "What stands in a source is copied, logged and committed." },
	[RULE_PIPE] = { "pipe-to-interpreter", SEVERITY_HIGH,
			"feeds an interpreter with code that has not been read",
			"save it to a file, read it, then run the file",
			"curl ... | sh runs whatever comes, and it need not be the same twice." },
	[RULE_EXHAUSTION] = { "exhaustion", SEVERITY_HIGH, "uses up the machine",
			      "bound loops and processes",
			      "A fork bomb or an endless file stops everybody's work." },
	[RULE_SPY] = { "spy", SEVERITY_HIGH, "watches keyboard, screen or clipboard", "remove it",
		       "Keys, pictures of the screen and the clipboard hold passwords and private "
		       "words." },
	[RULE_FORBIDDEN_IMPORT] = { "forbidden-import", SEVERITY_HIGH,
				    "the policy forbids this import",
				    "use another module, or change the policy",
				    "The policy's list forbidden_imports names it." },
	[RULE_FORBIDDEN_FUNCTION] = { "forbidden-function", SEVERITY_HIGH,
				      "the policy forbids this function",
				      "use another function, or change the policy",
				      "The policy's list forbidden_functions names it." },
	[RULE_FORBIDDEN_COMMAND] = { "forbidden-command", SEVERITY_HIGH,
				     "the policy forbids this command",
				     "use another command, or change the policy",
				     "The policy's list forbidden_commands names it." },
	[RULE_FORBIDDEN_PATTERN] = { "forbidden-pattern", SEVERITY_HIGH,
				     "the policy forbids this text",
				     "write it differently, or change the policy",
				     "The policy's list forbidden_patterns matches it." },
};

int scan_rule_named(const char *name)
{
	const char *dot = strchr(name, '.');
	const char *bare = dot ? dot + 1 : name;

	for (int i = 0; i < SCAN_RULES; i++) {
		if (strcmp(scan_rules[i].name, bare) == 0)
			return i;
	}
	return -1;
}
