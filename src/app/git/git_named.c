/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a work tree that the host's git configuration names. */
#include "app/git/git_named.h"

#include "base/core/own.h"
#include "app/git/git.h"
#include "app/git/git_plain.h"
#include "workspace/disk/target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys whose value is one path, blanks and all; as git writes them, in lower case. */
static const char *const path_keys[] = { "core.hookspath", "core.attributesfile",
					 "core.fsmonitor" };

static bool is_path_key(const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < sizeof(path_keys) / sizeof(path_keys[0]); i++)
		if (strcmp(path_keys[i], key) == 0)
			return true;
	/* include.path, includeif.CONDITION.path */
	return strncmp(key, "include", 7) == 0 && len > 5 && strcmp(key + len - 5, ".path") == 0;
}

/* Places of other repositories and names of branches: nothing that git runs. */
static bool is_ignored_key(const char *key)
{
	return strncmp(key, "remote.", 7) == 0 || strncmp(key, "branch.", 7) == 0 ||
	       strncmp(key, "submodule.", 10) == 0 || strncmp(key, "url.", 4) == 0 ||
	       strcmp(key, "core.worktree") == 0;
}

/* Git resolves relative paths of its configuration from the work tree's top, or from the git directory. */
struct naming {
	const char *workspace;
	char *top, *directory;
	struct strv *paths;
};

static void add_place(const struct naming *naming, const char *from, const char *word)
{
	owned(free_ptr) char *whole =
		word[0] == '/' ? xstrdup(word) : xasprintf("%s/%s", from, word);
	struct str clean = STR_INIT;
	char *rest = NULL;

	for (char *part = strtok_r(whole, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		char *slash = clean.len > 0 ? strrchr(clean.data, '/') : NULL;

		if (strcmp(part, "..") == 0)
			str_truncate(&clean, slash ? (size_t)(slash - clean.data) : 0);
		else if (strcmp(part, ".") != 0)
			str_addf(&clean, "/%s", part);
	}
	owned(free_ptr) char *path = str_detach(&clean);
	const char *relative = target_relative(naming->workspace, path);

	if (relative && *relative && !strv_has(naming->paths, relative))
		strv_add(naming->paths, relative);
}

static void add_value(const struct naming *naming, const char *key, const char *value)
{
	static const char marks[] = " \t\n\"'!;|&()<>=$`";
	const char *home = getenv("HOME");
	owned(free_ptr) char *words = xstrdup(value);
	char *rest = NULL;

	if (is_ignored_key(key))
		return;
	if (is_path_key(key)) {
		bool is_home = value[0] == '~' && value[1] == '/' && home;

		add_place(naming, is_home ? home : naming->top, is_home ? value + 2 : value);
		/* What a repository's configuration includes is found from there. */
		if (value[0] != '/' && !is_home)
			add_place(naming, naming->directory, value);
		return;
	}
	for (char *word = strtok_r(words, marks, &rest); word; word = strtok_r(NULL, marks, &rest))
		if (strchr(word, '/'))
			add_place(naming, naming->top, word);
}

/* Of a repository that git cannot read, or is not started in: every path may be one that it names. */
static int name_all(struct strv *paths)
{
	strv_add(paths, "");
	return -1;
}

int git_named(const char *workspace, struct strv *ret_paths, struct error *err)
{
	static const char *const words[] = { "-c", "safe.directory=*", "config", "--list",
					     "-z", "--includes",       NULL };
	const struct git_call call = { .words = words, .is_real = true };
	owned(strv_done) struct strv directories = STRV_INIT;
	owned(git_close) struct git git = { 0 };
	owned(str_done) struct str out = STR_INIT;
	struct naming naming = { .workspace = workspace, .paths = ret_paths };

	git_plain_find(workspace, &directories);
	if (directories.count == 0)
		return 0;
	if (git_plain_check(&directories, err) < 0 || git_plain_check_whole(&directories, err) < 0)
		return name_all(ret_paths);
	if (git_locate(workspace, (const char *const *)environ, &git, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : name_all(ret_paths);
	if (git_run(&git, &call, &out, err) < 0)
		return name_all(ret_paths);
	naming.directory = directories.items[0];
	naming.top = git_plain_top(workspace);
	/* "key\nvalue", a NUL; a key alone is true. */
	for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1) {
		char *value = strchr(out.data + at, '\n');

		if (!value)
			continue;
		*value = '\0';
		add_value(&naming, out.data + at, value + 1);
		*value = '\n';
	}
	free(naming.top);
	return 0;
}
