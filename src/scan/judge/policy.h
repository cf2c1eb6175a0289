/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is forbidden, allowed, and how grave: built in, and from a file.
 *
 *   python:                          # or javascript, shell
 *     forbidden_imports: [socket]
 *     forbidden_functions: [eval, os.system, "*.extractall"]
 *     forbidden_commands: [curl, git push]
 *     forbidden_patterns: ['password\s*=', {pattern: 'AKIA\w+', in: strings, severity: critical, message: "..."}]
 *     allowed_imports: [...]           # of what is forbidden or found, this not
 *     allowed_functions: [subprocess.run]
 *     allowed_commands: [git]
 *     severities: {network: high, delete: off}
 *   severities: {subprocess: low}    # for all languages
 *   builtin: false                   # only the rules of this file
 *   fail_on: high
 */
#ifndef SCAN_POLICY_H
#define SCAN_POLICY_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "scan/syntax/language.h"
#include "scan/syntax/pattern.h"
#include "scan/rule.h"

#include <stdbool.h>

/* Where a pattern's match has to begin. */
enum policy_place { PLACE_CODE, PLACE_STRINGS, PLACE_ANYWHERE };

struct policy_entry {
	char *text;		 /* module, function, command or pattern as written */
	struct pattern *pattern; /* of forbidden_patterns, else NULL */
	enum policy_place place;
	int severity;  /* -1: the rule's */
	char *message; /* NULL: the rule's */
	char *hint;    /* NULL: the rule's */
};

struct policy_entries {
	struct policy_entry *items;
	size_t count;
};

enum policy_list { LIST_IMPORTS, LIST_FUNCTIONS, LIST_COMMANDS, LIST_PATTERNS, POLICY_LISTS };

struct policy_language {
	struct policy_entries forbidden[POLICY_LISTS];
	struct strv allowed[POLICY_LISTS]; /* no patterns */
	int severities[SCAN_RULES];	   /* -1: not given; SEVERITY_NONE: off */
};

struct scan_policy {
	struct policy_language languages[SCAN_LANGUAGES];
	bool without_builtin;
	int fail_on; /* -1: not given */
};

/* The built-in policy. */
void scan_policy_init(struct scan_policy *policy);
void scan_policy_done(struct scan_policy *policy);

/* Reads YAML on top of the built-in policy; errors begin with "ORIGIN:LINE: ". *ret_policy is the caller's. */
int scan_policy_read(const char *bytes, size_t len, const char *origin,
		     struct scan_policy *ret_policy, struct error *err);

/* How grave RULE is in LANGUAGE when the scanner rates it SEVERITY; SEVERITY_NONE: not reported. */
enum scan_severity scan_policy_severity(const struct scan_policy *policy,
					enum scan_language language, enum scan_rule rule,
					enum scan_severity severity);

/* The entry that forbids NAME, or NULL. Of imports, a module covers what lies in it. */
const struct policy_entry *scan_policy_forbids(const struct scan_policy *policy,
					       enum scan_language language, enum policy_list list,
					       const char *name);
bool scan_policy_allows(const struct scan_policy *policy, enum scan_language language,
			enum policy_list list, const char *name);

#endif
