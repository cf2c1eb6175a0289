/* SPDX-License-Identifier: Apache-2.0 */
/* What the scanner can find, each with a name, a weight and words for people. */
#ifndef SCAN_RULE_H
#define SCAN_RULE_H

#include <stddef.h>

enum scan_severity {
	SEVERITY_NONE,
	SEVERITY_LOW,
	SEVERITY_MEDIUM,
	SEVERITY_HIGH,
	SEVERITY_CRITICAL
};

/* "none", "low", "medium", "high", "critical". */
const char *scan_severity_name(enum scan_severity severity);
/* -1 when there is no such word. */
int scan_severity_named(const char *name);

enum scan_rule {
	RULE_NOT_ANALYSABLE,
	RULE_EXEC,
	RULE_DYNAMIC_IMPORT,
	RULE_DYNAMIC_NAME,
	RULE_INTROSPECTION,
	RULE_SUBPROCESS,
	RULE_NETWORK,
	RULE_SEND,
	RULE_REVERSE_SHELL,
	RULE_DELETE,
	RULE_DEVICE,
	RULE_SECRET_READ,
	RULE_PERSISTENCE,
	RULE_PRIVILEGE,
	RULE_NATIVE,
	RULE_DESERIALISE,
	RULE_OBFUSCATION,
	RULE_CREDENTIAL,
	RULE_PIPE,
	RULE_EXHAUSTION,
	RULE_SPY,
	RULE_FORBIDDEN_IMPORT,
	RULE_FORBIDDEN_FUNCTION,
	RULE_FORBIDDEN_COMMAND,
	RULE_FORBIDDEN_PATTERN,
	SCAN_RULES,
};

struct scan_rule_row {
	const char *name;	     /* without the language: "exec" */
	enum scan_severity severity; /* where nothing makes it more or less */
	const char *message;
	const char *hint; /* what to do instead */
	const char *why;  /* for --explain */
};

extern const struct scan_rule_row scan_rules[SCAN_RULES];

/* By its name, with or without a language in front; -1 when there is none. */
int scan_rule_named(const char *name);

#endif
