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

/* Beginnings and ends of names, where there are too many to list. Every name is held against all of them. */
struct affix {
	const char *start, *end, *why;
	size_t start_len, end_len;
};

#define AFFIX(start, end, why)                                      \
	{                                                           \
		start, end, why, sizeof(start) - 1, sizeof(end) - 1 \
	}

static const struct affix affixes[] = {
	AFFIX(".", "rc", WHY_SHELL),
	AFFIX(".", "rc.js", WHY_BUILD),
	AFFIX(".", "rc.cjs", WHY_BUILD),
	AFFIX(".", "rc.mjs", WHY_BUILD),
	AFFIX(".", "rc.ts", WHY_BUILD),
	AFFIX(".", "rc.json", WHY_BUILD),
	AFFIX(".", "rc.yml", WHY_BUILD),
	AFFIX(".", "rc.yaml", WHY_BUILD),
	AFFIX(".", "rc.toml", WHY_BUILD),
	AFFIX("", ".config.js", WHY_BUILD),
	AFFIX("", ".config.cjs", WHY_BUILD),
	AFFIX("", ".config.mjs", WHY_BUILD),
	AFFIX("", ".config.ts", WHY_BUILD),
	AFFIX("", ".config.mts", WHY_BUILD),
	AFFIX("", ".config.cts", WHY_BUILD),
	AFFIX("", ".conf.js", WHY_BUILD),
	AFFIX("gulpfile.", "", WHY_BUILD),
	AFFIX("gruntfile.", "", WHY_BUILD),
	AFFIX("", ".mk", WHY_BUILD),
	AFFIX("", ".mak", WHY_BUILD),
	AFFIX("", ".cmake", WHY_BUILD),
	AFFIX("", ".bzl", WHY_BUILD),
	AFFIX("", ".bazel", WHY_BUILD),
	AFFIX("", ".gradle", WHY_BUILD),
	AFFIX("", ".gradle.kts", WHY_BUILD),
	AFFIX("", ".sbt", WHY_BUILD),
	AFFIX("", ".rake", WHY_BUILD),
	AFFIX("", ".gemspec", WHY_BUILD),
	AFFIX("", ".cabal", WHY_BUILD),
	AFFIX("", ".csproj", WHY_BUILD),
	AFFIX("", ".vcxproj", WHY_BUILD),
	AFFIX("", ".fsproj", WHY_BUILD),
	AFFIX("", ".vbproj", WHY_BUILD),
	AFFIX("", ".props", WHY_BUILD),
	AFFIX("", ".targets", WHY_BUILD),
	AFFIX("makefile.", "", WHY_BUILD),
	AFFIX("requirements", ".txt", WHY_DEPENDENCY),
	AFFIX(".env.", "", WHY_ENVIRONMENT),
	AFFIX("", ".pth", WHY_PYTHON),
	AFFIX("", "-gdb.py", WHY_SHELL),
	AFFIX("", "-gdb.gdb", WHY_SHELL),
	AFFIX("", "-gdb.scm", WHY_SHELL),
	AFFIX("", ".code-workspace", WHY_EDITOR),
	AFFIX("", ".sublime-project", WHY_EDITOR),
	AFFIX("", ".iml", WHY_EDITOR),
	AFFIX("jenkinsfile.", "", WHY_CI),
	AFFIX("azure-pipelines", ".yml", WHY_CI),
	AFFIX("azure-pipelines", ".yaml", WHY_CI),
	AFFIX("", ".gitlab-ci.yml", WHY_CI),
	AFFIX("lefthook.", "", WHY_HOOK),
	AFFIX(".lintstagedrc", "", WHY_HOOK),
	AFFIX("dockerfile.", "", WHY_CONTAINER),
	AFFIX("", ".dockerfile", WHY_CONTAINER),
	AFFIX("containerfile.", "", WHY_CONTAINER),
	AFFIX("docker-compose.", "", WHY_CONTAINER),
	AFFIX("compose.", ".yml", WHY_CONTAINER),
	AFFIX("compose.", ".yaml", WHY_CONTAINER),
	AFFIX(".aider", "", WHY_AGENT),
	AFFIX(".aisbx", "", WHY_AGENT),
	AFFIX(".claude", "", WHY_AGENT),
	AFFIX("", ".mdc", WHY_AGENT),
	AFFIX("", ".instructions.md", WHY_AGENT),
	AFFIX("", ".service", WHY_UNIT),
	AFFIX("", ".socket", WHY_UNIT),
	AFFIX("", ".timer", WHY_UNIT),
	AFFIX("", ".automount", WHY_UNIT),
	AFFIX("", ".desktop", WHY_UNIT),
	AFFIX("", ".crontab", WHY_CRON),
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
		const struct affix *affix = &affixes[i];

		if (len > affix->start_len + affix->end_len &&
		    memcmp(name, affix->start, affix->start_len) == 0 &&
		    memcmp(name + len - affix->end_len, affix->end, affix->end_len) == 0)
			return affix->why;
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
