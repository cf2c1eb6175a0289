/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that make something run when a person next works in the tree.
 *
 * A path is judged name by name, by the rules of triggers.tsv; names are folded first (name_fold.h). Below a git
 * directory only what is known to be data passes, and only if no rule knows its name: a folder may be called like git's
 * and be something else.
 */
#include "workspace/consent/trigger.h"

#include "workspace/consent/name_fold.h"
#include "workspace/consent/trigger_table.h"

#include <stdlib.h>
#include <string.h>

#define WHY_GIT_HOOK "git hook"
#define WHY_GIT_CONFIG "git configuration"
/* Caches that git believes without looking at the objects; it makes them anew by itself. */
#define WHY_GIT_CACHE "git cache of other objects, which the host's git can make itself"
#define WHY_GIT_REPLACED "git replacement of objects by others"
#define WHY_GIT_ELSEWHERE "git objects of another repository"
#define WHY_GIT_DISGUISED "git repository in disguise"
#define WHY_BUILD "build file"

/* Path rules have at most so many names. */
#define PARTS_MAX 4

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* What git itself writes at every commit and which makes nothing run. */
static const char *const git_data_names[] = {
	"head",	       "index",	      "orig_head",   "fetch_head",  "merge_head",
	"merge_msg",   "merge_mode",  "squash_msg",  "auto_merge",  "cherry_pick_head",
	"revert_head", "packed-refs", "description", "shallow",	    "commit_editmsg",
	"tag_editmsg", "gc.log",      "gc.pid",	     "rebase_head", "git-daemon-export-ok",
};
/* Folders of such data, up to the names that follow; "" for all of it. */
static const char *const git_data_folders[][2] = {
	{ "objects", "" },	 { "refs", "" },	{ "logs", "" },
	{ "lfs", "objects" },	 { "lfs", "tmp" },	{ "lfs", "cache" },
	{ "lfs", "incomplete" }, { "info", "exclude" }, { "info", "refs" },
};
/* In them: what names other objects than its own, or changes what an object's name means. THIRD is NULL for any name. */
static const struct {
	const char *name, *next, *third, *why;
} git_no_data[] = {
	{ "refs", "replace", NULL, WHY_GIT_REPLACED },
	{ "objects", "info", "alternates", WHY_GIT_ELSEWHERE },
	{ "objects", "info", "http-alternates", WHY_GIT_ELSEWHERE },
	{ "objects", "info", "commit-graph", WHY_GIT_CACHE },
	{ "objects", "info", "commit-graphs", WHY_GIT_CACHE },
	{ "objects", "pack", "multi-pack-index", WHY_GIT_CACHE },
	{ "objects", "pack", "multi-pack-index.d", WHY_GIT_CACHE },
};

static int compare_row(const void *name, const void *row)
{
	return strcmp(name, ((const struct trigger_row *)row)->pattern);
}

static const char *find_row(const struct trigger_row *rows, size_t count, const char *name)
{
	const struct trigger_row *row =
		bsearch(name, rows, count, sizeof(struct trigger_row), compare_row);

	return row ? row->why : NULL;
}

/* Whether a name matches PATTERN_LEN bytes of PATTERN, with at most one star. */
static bool matches(const char *pattern, size_t pattern_len, const char *name, size_t name_len)
{
	const char *star = memchr(pattern, '*', pattern_len);
	size_t start = star ? (size_t)(star - pattern) : pattern_len;
	size_t end = star ? pattern_len - start - 1 : 0;

	if (star ? name_len < start + end : name_len != pattern_len)
		return false;
	return memcmp(name, pattern, start) == 0 &&
	       memcmp(name + name_len - end, pattern + pattern_len - end, end) == 0;
}

/* Every name is held against all patterns: most differ in their first or last byte. */
static bool may_match(const struct trigger_row *row, const char *name, size_t len)
{
	return (row->first == '*' || row->first == name[0]) &&
	       (row->last == '*' || row->last == name[len - 1]);
}

static const char *find_pattern(const struct trigger_row *rows, size_t count, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; len > 0 && i < count; i++)
		if (may_match(&rows[i], name, len) &&
		    matches(rows[i].pattern, rows[i].len, name, len))
			return rows[i].why;
	return NULL;
}

/* The last names of a path, folded, in a ring. */
struct tail {
	char names[PARTS_MAX][NAME_FOLD_SIZE];
	size_t count; /* of all names so far */
};

/* The name that stands BACK names before the last. */
static const char *tail_name(const struct tail *tail, size_t back)
{
	return tail->names[(tail->count - 1 - back) % PARTS_MAX];
}

static bool matches_path(const char *pattern, size_t end, const struct tail *tail)
{
	for (size_t i = 0; i < tail->count && i < PARTS_MAX; i++) {
		const char *slash = memrchr(pattern, '/', end);
		const char *part = slash ? slash + 1 : pattern;
		const char *name = tail_name(tail, i);

		if (!matches(part, (size_t)(pattern + end - part), name, strlen(name)))
			return false;
		if (!slash)
			return true;
		end = (size_t)(slash - pattern);
	}
	return false;
}

static const char *why_of_path(const struct tail *tail)
{
	const char *name = tail_name(tail, 0);
	size_t len = strlen(name);

	for (size_t i = 0; len > 0 && i < trigger_paths_count; i++) {
		const struct trigger_row *row = &trigger_paths[i];

		if ((row->last == '*' || row->last == name[len - 1]) &&
		    matches_path(row->pattern, row->len, tail))
			return row->why;
	}
	return NULL;
}

static const char *why_of_folder(const char *name)
{
	const char *why = find_row(trigger_folders, trigger_folders_count, name);

	return why ? why
		   : find_pattern(trigger_folder_patterns, trigger_folder_patterns_count, name);
}

static const char *why_of_name(const char *name)
{
	const char *why = find_row(trigger_names, trigger_names_count, name);

	if (why || find_pattern(trigger_plain_names, trigger_plain_names_count, name))
		return why;
	return find_pattern(trigger_name_patterns, trigger_name_patterns_count, name);
}

bool trigger_is_git_name(const char *name)
{
	char folded[NAME_FOLD_SIZE];
	size_t len;

	(void)name_fold(name, folded);
	len = strlen(folded);
	/* A bare repository by its usual name; the short names on file systems that make those. */
	return (len >= 4 && strcmp(folded + len - 4, ".git") == 0) ||
	       strcmp(folded, "git~1") == 0 || strcmp(folded, "git~2") == 0;
}

static bool is_git_data_folder(const char *name, const char *next)
{
	for (size_t i = 0; i < COUNT(git_data_folders); i++)
		if (strcmp(git_data_folders[i][0], name) == 0 &&
		    (!*git_data_folders[i][1] || strcmp(git_data_folders[i][1], next) == 0))
			return true;
	return false;
}

static const char *why_git_exception(const char *name, const char *next, const char *third)
{
	for (size_t i = 0; i < COUNT(git_no_data); i++)
		if (strcmp(git_no_data[i].name, name) == 0 &&
		    strcmp(git_no_data[i].next, next) == 0 &&
		    (!git_no_data[i].third || strcmp(git_no_data[i].third, third) == 0))
			return git_no_data[i].why;
	return NULL;
}

const char *trigger_why_in_git(const char *rest)
{
	char name[NAME_FOLD_SIZE], next[NAME_FOLD_SIZE], third[NAME_FOLD_SIZE];
	const char *after = name_fold(rest + strspn(rest, "/"), name);
	const char *last = name_fold(after + strspn(after, "/"), next);

	(void)name_fold(last + strspn(last, "/"), third);
	if (strcmp(name, "hooks") == 0)
		return WHY_GIT_HOOK;
	if (*after == '\0') {
		for (size_t i = 0; i < COUNT(git_data_names); i++)
			if (strcmp(git_data_names[i], name) == 0)
				return NULL;
		return WHY_GIT_CONFIG;
	}
	if (!is_git_data_folder(name, next))
		return WHY_GIT_CONFIG;
	return why_git_exception(name, next, third);
}

/* Names that are triggers in upper case only. */
static const char *why_as_written(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (strcmp(name, "HEAD") == 0)
		return WHY_GIT_DISGUISED;
	if (strcmp(name, "BUILD") == 0 || strcmp(name, "WORKSPACE") == 0)
		return WHY_BUILD;
	return NULL;
}

/* By the names of PATH; *RET_WHY_GIT is the reason by its place below a directory called like git's. */
static const char *judge_names(const char *path, const char **ret_why_git)
{
	struct tail tail;
	const char *at = path, *why = NULL;
	bool is_in_git = false;

	*ret_why_git = NULL;
	for (tail.count = 0; *(at += strspn(at, "/"));) {
		char *name = tail.names[tail.count++ % PARTS_MAX];

		at = name_fold(at, name);
		if (!is_in_git && trigger_is_git_name(name)) {
			*ret_why_git = trigger_why_in_git(at);
			is_in_git = true;
		} else if ((why = why_of_folder(name))) {
			return why;
		}
	}
	if (tail.count == 0)
		return NULL;
	why = why_of_name(tail_name(&tail, 0));
	if (!why)
		why = why_of_path(&tail);
	return why || is_in_git ? why : why_as_written(path);
}

const char *trigger_why_of_names(const char *path)
{
	const char *ignored;

	return judge_names(path, &ignored);
}

const char *trigger_why(const char *path)
{
	const char *why_git, *why = judge_names(path, &why_git);

	return why_git ? why_git : why;
}
