/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of tools in HOME: what a profile adds to the table, and what links of theirs may lead to. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "plan/mask_list.h"
#include "plan/parts.h"

#include <string.h>

/* A word of `home_tools` as a clean path; NULL when it climbs. */
static char *absolute(const char *home, const char *word)
{
	owned(free_ptr) char *joined = NULL;

	if (strcmp(word, "~") == 0)
		return xstrdup(home);
	if (word[0] != '/')
		joined = plan_join(home, str_starts(word, "~/") ? word + 2 : word);
	return path_clean(joined ? joined : word);
}

/* The list's name that NAME is, or lies in; NULL when there is none. */
static const char *find_listed(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (wildcard_matches(*names, name, WILDCARD_PATH | WILDCARD_BELOW))
			return *names;
	}
	return NULL;
}

const char *plan_credential(const char *name)
{
	const char *found = find_listed(mask_home_hidden, name);

	return found ? found : find_listed(mask_tool_hidden, name);
}

static int add_tool(const char *home, const char *word, struct strv *names, struct error *err)
{
	owned(free_ptr) char *path = absolute(home, word);

	if (!path || strchr(word, '*') || !path_is_within(path, home) || strcmp(path, home) == 0)
		return error_advise(
			err, ERROR_USAGE, "other places are shown by --ro SRC:DST",
			"home_tools %.200s: name a directory below the home, without '..' and '*'",
			word);
	const char *name = path + strlen(home) + 1;

	const char *secret = plan_credential(name);

	if (secret)
		return error_advise(
			err, ERROR_USAGE, "hand one over by --secret NAME=FILE",
			"home_tools %.200s: ~/%s holds credentials, which no sandbox is shown",
			word, secret);
	if (!strv_has(names, name))
		strv_add(names, name);
	return 0;
}

int plan_home_tools(const struct strv *words, const char *home, struct strv *ret_names,
		    struct error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		if (add_tool(home, words->items[i], ret_names, err) < 0)
			return -1;
	}
	return 0;
}

/* Whether the first parts of PATTERN match all of DIR. */
static bool begins_in(const char *pattern, const char *dir)
{
	size_t depth = 1, at = 0, same = 0;

	/* Nearly always they differ at once, and every start asks for each directory and each name of the table. */
	while (pattern[same] && pattern[same] != '*' && pattern[same] == dir[same])
		same++;
	if (dir[same] && pattern[same] != '*')
		return false;
	for (const char *slash = strchr(dir, '/'); slash; slash = strchr(slash + 1, '/'))
		depth++;
	for (; depth > 0; depth--) {
		if (!pattern[at])
			return false;
		at += pattern[at] == '/';
		at += strcspn(pattern + at, "/");
	}
	owned(free_ptr) char *part = xstrndup(pattern, at);

	return wildcard_matches(part, dir, WILDCARD_PATH);
}

static void add_secrets(const char *const *names, const char *dir, struct strv *secrets)
{
	for (; *names; names++) {
		if (begins_in(*names, dir))
			strv_add(secrets, *names);
	}
}

void plan_tool_secrets(const char *dir, struct strv *ret_names)
{
	add_secrets(mask_tool_hidden, dir, ret_names);
	add_secrets(mask_home_outside, dir, ret_names);
}

bool plan_tool_may_lead(const char *home, const struct strv *shown, const char *target)
{
	static const char *const system[] = { "/bin",	 "/gnu", "/lib", "/lib32", "/lib64",
					      "/libx32", "/nix", "/opt", "/sbin",  "/usr" };

	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
		if (path_is_within(target, system[i]))
			return true;
	}
	if (!path_is_within(target, home) || strcmp(target, home) == 0)
		return false;
	for (size_t i = 0; i < shown->count; i++) {
		if (path_is_within(target + strlen(home) + 1, shown->items[i]))
			return true;
	}
	return false;
}
