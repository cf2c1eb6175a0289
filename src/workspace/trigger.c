/*
 * Files that make something run when a person next works in the tree.
 *
 * A path is judged name by name. Names are made plain first, the way the least careful filesystem or tool would read
 * them: case, dots and blanks at the end, letters nobody sees. Below .git only what is known to be data passes.
 */
#include "workspace/trigger.h"

#include "workspace/trigger_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 255

/* Beginnings and ends of names, where there are too many to list. */
struct affix {
	const char *start, *end, *why;
};

static const struct affix affixes[] = {
	{ ".", "rc", WHY_SHELL },
	{ ".", "rc.js", WHY_BUILD },
	{ ".", "rc.cjs", WHY_BUILD },
	{ ".", "rc.mjs", WHY_BUILD },
	{ ".", "rc.ts", WHY_BUILD },
	{ ".", "rc.json", WHY_BUILD },
	{ ".", "rc.yml", WHY_BUILD },
	{ ".", "rc.yaml", WHY_BUILD },
	{ ".", "rc.toml", WHY_BUILD },
	{ "", ".config.js", WHY_BUILD },
	{ "", ".config.cjs", WHY_BUILD },
	{ "", ".config.mjs", WHY_BUILD },
	{ "", ".config.ts", WHY_BUILD },
	{ "", ".config.mts", WHY_BUILD },
	{ "", ".config.cts", WHY_BUILD },
	{ "", ".conf.js", WHY_BUILD },
	{ "gulpfile.", "", WHY_BUILD },
	{ "gruntfile.", "", WHY_BUILD },
	{ "", ".mk", WHY_BUILD },
	{ "", ".mak", WHY_BUILD },
	{ "", ".cmake", WHY_BUILD },
	{ "", ".bzl", WHY_BUILD },
	{ "", ".bazel", WHY_BUILD },
	{ "", ".gradle", WHY_BUILD },
	{ "", ".gradle.kts", WHY_BUILD },
	{ "", ".sbt", WHY_BUILD },
	{ "", ".rake", WHY_BUILD },
	{ "", ".gemspec", WHY_BUILD },
	{ "", ".cabal", WHY_BUILD },
	{ "", ".csproj", WHY_BUILD },
	{ "", ".vcxproj", WHY_BUILD },
	{ "", ".fsproj", WHY_BUILD },
	{ "", ".vbproj", WHY_BUILD },
	{ "", ".props", WHY_BUILD },
	{ "", ".targets", WHY_BUILD },
	{ "makefile.", "", WHY_BUILD },
	{ "requirements", ".txt", WHY_DEPENDENCY },
	{ ".env.", "", WHY_ENVIRONMENT },
	{ "", ".pth", WHY_PYTHON },
	{ "", "-gdb.py", WHY_SHELL },
	{ "", "-gdb.gdb", WHY_SHELL },
	{ "", "-gdb.scm", WHY_SHELL },
	{ "", ".code-workspace", WHY_EDITOR },
	{ "", ".sublime-project", WHY_EDITOR },
	{ "", ".iml", WHY_EDITOR },
	{ "jenkinsfile.", "", WHY_CI },
	{ "azure-pipelines", ".yml", WHY_CI },
	{ "azure-pipelines", ".yaml", WHY_CI },
	{ "", ".gitlab-ci.yml", WHY_CI },
	{ "lefthook.", "", WHY_HOOK },
	{ ".lintstagedrc", "", WHY_HOOK },
	{ "dockerfile.", "", WHY_CONTAINER },
	{ "", ".dockerfile", WHY_CONTAINER },
	{ "containerfile.", "", WHY_CONTAINER },
	{ "docker-compose.", "", WHY_CONTAINER },
	{ "compose.", ".yml", WHY_CONTAINER },
	{ "compose.", ".yaml", WHY_CONTAINER },
	{ ".aider", "", WHY_AGENT },
	{ ".aisbx", "", WHY_AGENT },
	{ ".claude", "", WHY_AGENT },
	{ "", ".mdc", WHY_AGENT },
	{ "", ".instructions.md", WHY_AGENT },
	{ "", ".service", WHY_UNIT },
	{ "", ".socket", WHY_UNIT },
	{ "", ".timer", WHY_UNIT },
	{ "", ".automount", WHY_UNIT },
	{ "", ".desktop", WHY_UNIT },
	{ "", ".crontab", WHY_CRON },
};

/* What git itself writes at every commit and which makes nothing run. */
static const char *const git_data_folders[] = { "objects", "refs", "logs", "lfs" };
static const char *const git_data_names[] = {
	"head",	       "index",	      "orig_head",   "fetch_head",  "merge_head",
	"merge_msg",   "merge_mode",  "squash_msg",  "auto_merge",  "cherry_pick_head",
	"revert_head", "packed-refs", "description", "shallow",	    "commit_editmsg",
	"tag_editmsg", "gc.log",      "gc.pid",	     "rebase_head", "git-daemon-export-ok",
};

/* Bytes of UTF-8 at TEXT that nobody sees (zero width, direction, byte order mark); 0 when it is something else. */
static size_t invisible_len(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (at[0] == 0xe2 && at[1] == 0x80 &&
	    ((at[2] >= 0x8b && at[2] <= 0x8f) || (at[2] >= 0xaa && at[2] <= 0xae)))
		return 3;
	if (at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xa0 && at[2] <= 0xaf)
		return 3;
	if (at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf)
		return 3;
	return at[0] == 0xc2 && at[1] == 0xad ? 2 : 0;
}

/* The length of NAME without what some filesystems do not take as part of it. */
static size_t significant_len(const char *name, size_t len)
{
	/* A stream of another filesystem: "config::$data" is config. */
	for (size_t i = 1; i + 1 < len; i++)
		if (name[i] == ':' && name[i + 1] == ':')
			len = i;
	while (len > 0 && (name[len - 1] == '.' || name[len - 1] == ' '))
		len--;
	return len;
}

/* The name that starts at PATH as the least careful reader would take it; returns what follows it. */
static const char *plain_name(const char *path, char out[static NAME_MAX_BYTES + 1])
{
	size_t len = 0;

	while (*path && *path != '/') {
		size_t skip = invisible_len(path);

		if (skip > 0) {
			path += skip;
			continue;
		}
		if (len < NAME_MAX_BYTES)
			out[len++] = (char)(*path >= 'A' && *path <= 'Z' ? *path + 32 : *path);
		path++;
	}
	out[significant_len(out, len)] = '\0';
	return path;
}

static int compare_row(const void *name, const void *row)
{
	return strcmp(name, ((const struct trigger_row *)row)->name);
}

static const char *why_of(const struct trigger_row *rows, size_t count, const char *name)
{
	const struct trigger_row *row =
		bsearch(name, rows, count, sizeof(struct trigger_row), compare_row);

	return row ? row->why : NULL;
}

static const char *why_of_affix(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(affixes) / sizeof(affixes[0]); i++) {
		size_t start = strlen(affixes[i].start), end = strlen(affixes[i].end);

		if (len > start + end && strncmp(name, affixes[i].start, start) == 0 &&
		    strcmp(name + len - end, affixes[i].end) == 0)
			return affixes[i].why;
	}
	return NULL;
}

/* ".git", a bare repository by its usual name, and the short names on filesystems that make those. */
static bool is_git(const char *name)
{
	size_t len = strlen(name);

	return (len >= 4 && strcmp(name + len - 4, ".git") == 0) || strcmp(name, "git~1") == 0 ||
	       strcmp(name, "git~2") == 0;
}

static bool is_listed(const char *const *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

const char *trigger_why_in_git(const char *rest)
{
	char name[NAME_MAX_BYTES + 1], next[NAME_MAX_BYTES + 1];
	const char *after = plain_name(rest + (*rest == '/'), name);

	if (strcmp(name, "hooks") == 0)
		return WHY_GIT_HOOK;
	if (*after == '\0')
		return is_listed(git_data_names, sizeof(git_data_names) / sizeof(git_data_names[0]),
				 name)
			       ? NULL
			       : WHY_GIT_CONFIG;
	if (strcmp(name, "info") == 0) {
		plain_name(after + 1, next);
		return strcmp(next, "exclude") == 0 || strcmp(next, "refs") == 0 ? NULL
										 : WHY_GIT_CONFIG;
	}
	return is_listed(git_data_folders, sizeof(git_data_folders) / sizeof(git_data_folders[0]),
			 name)
		       ? NULL
		       : WHY_GIT_CONFIG;
}

/* Names whose case tells them from plain words. */
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

const char *trigger_why(const char *path)
{
	char name[NAME_MAX_BYTES + 1];
	const char *at = path, *why;

	for (;;) {
		while (*at == '/')
			at++;
		if (*at == '\0')
			return NULL;
		at = plain_name(at, name);
		if (is_git(name))
			return trigger_why_in_git(at);
		why = why_of(trigger_folders, trigger_folder_count, name);
		if (why)
			return why;
		if (*at == '\0')
			break;
	}
	why = why_of(trigger_names, trigger_name_count, name);
	if (!why)
		why = why_of_affix(name);
	return why ? why : why_as_written(path);
}
