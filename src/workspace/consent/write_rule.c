/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about writing: what they say of one path. */
#include "workspace/consent/write_rule.h"

#include "base/core/own.h"
#include "base/text/wildcard.h"

#include <string.h>

/* In patterns: any directories, also none. A pattern with more of them forbids everything, or permits nothing. */
#define ANY_DEPTH "/**/"
#define ANY_DEPTH_MAX 8u

/* As a pattern, to which ANY_DEPTH is one directory or more. FROM: where the next of them is looked for. */
static bool matches(const char *pattern, size_t from, const char *path, int flags, unsigned count)
{
	const char *open = strstr(pattern + from, ANY_DEPTH);
	owned(free_ptr) char *without = NULL;
	size_t at;

	if (!open)
		return wildcard_matches(pattern, path, flags | WILDCARD_PLAIN);
	if (count == ANY_DEPTH_MAX)
		return !(flags & WILDCARD_PATH);
	at = (size_t)(open - pattern);
	without = xasprintf("%.*s%s", (int)at, pattern, open + strlen(ANY_DEPTH) - 1);
	return matches(pattern, at + strlen(ANY_DEPTH) - 1, path, flags, count + 1) ||
	       matches(without, at, path, flags, count + 1);
}

/* PATH, or a directory above it. */
static bool covers(const char *pattern, const char *path, int flags)
{
	owned(free_ptr) char *part = xstrdup(path);

	for (;;) {
		if (strcmp(pattern, part) == 0 || matches(pattern, 0, part, flags, 0))
			return true;
		char *slash = strrchr(part, '/');

		if (!slash)
			return strcmp(pattern, "/") == 0;
		*slash = '\0';
	}
}

bool write_rules_forbid(const struct strv *words, const char *path)
{
	bool are_there = false, is_allowed = false;

	for (size_t i = 0; i + 1 < words->count; i += 2) {
		const char *name = words->items[i], *pattern = words->items[i + 1];

		are_there |= strcmp(name, WRITE_RULES) == 0;
		/* A star stands for as much as it can where it forbids, and for as little where it permits. */
		if (strcmp(name, WRITE_DENY) == 0 && covers(pattern, path, 0))
			return true;
		if (strcmp(name, WRITE_ALLOW) == 0 && covers(pattern, path, WILDCARD_PATH))
			is_allowed = true;
	}
	return are_there && !is_allowed;
}

bool write_rule_is_word(const char *word)
{
	return strcmp(word, WRITE_RULES) == 0 || strcmp(word, WRITE_ALLOW) == 0 ||
	       strcmp(word, WRITE_DENY) == 0;
}
