/* SPDX-License-Identifier: Apache-2.0 */
/* Git directories outside the workspace that it needs: which, and whether each may be shown. */
#include "app/prepare/git_outside_parts.h"

#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "plan/git_config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Git follows alternates as deep. */
#define DEPTH_MAX 5
#define SHOWN_MAX 32
#define ALTERNATES_MAX ((size_t)64 << 10)

/* One look at a workspace. */
struct look {
	uid_t caller;
	struct plan_paths *paths;
};

void git_place_done(struct git_place *place)
{
	fd_close(&place->fd);
	free_ptr(&place->path);
}

/* Of a descriptor that was opened without following a link, this is the only name. */
static char *path_of_fd(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	return path_is_clean(path) ? xstrdup(path) : NULL;
}

int git_place_open(const char *from, const char *named, struct git_place *ret_place)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	owned(free_ptr) char *path =
		named[0] == '/' ? xstrdup(named) : xasprintf("%s/%s", from, named);

	*ret_place = (struct git_place){ .fd = -1 };
	ret_place->fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (ret_place->fd < 0)
		return -1;
	ret_place->path = path_of_fd(ret_place->fd);
	if (ret_place->path)
		return 0;
	git_place_done(ret_place);
	errno = ENOENT;
	return -1;
}

char *git_place_line(const struct git_place *place, const char *name, const char *prefix)
{
	owned(fd_close) int fd = file_open(place->fd, name, O_NOFOLLOW, NULL);
	char text[GIT_LINE_MAX + 1];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return NULL;
	text[len] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (!str_starts(text, prefix) || !text[strlen(prefix)])
		return NULL;
	return xstrdup(text + strlen(prefix));
}

bool git_place_has(const struct git_place *place, const char *name, mode_t kind)
{
	struct stat st;

	return fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (st.st_mode & S_IFMT) == kind;
}

static void refuse(const struct look *look, const char *what, const char *named, const char *why)
{
	char shown[STR_SHOWN_SIZE];

	strv_addf(&look->paths->git_notes, "%s names %s, which is not shown: %s", what,
		  str_shown(named, shown), why);
}

/* Why the directory at PLACE is not shown whatever it holds; NULL: it may be. */
static const char *why_not_here(const struct look *look, const struct git_place *place)
{
	static const char *const kernel[] = { "/proc", "/sys", "/dev", "/run" };
	const char *workspace = look->paths->workspace;
	struct stat st;

	if (fstat(place->fd, &st) < 0 || st.st_uid != look->caller)
		return "it belongs to another account";
	if (path_is_within(workspace, place->path))
		return "the workspace lies in it";
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++) {
		if (path_is_within(place->path, kernel[i]))
			return "a sandbox has its own directory there";
	}
	return NULL;
}

static const char *why_no_store(const struct git_place *place)
{
	if (!git_place_has(place, "HEAD", S_IFREG) || !git_place_has(place, "objects", S_IFDIR) ||
	    !git_place_has(place, "refs", S_IFDIR))
		return "it is no git directory";
	return git_place_has(place, "reftable", S_IFDIR)
		       ? "its branches are kept in a reftable, which is not supported"
		       : NULL;
}

/* Whether NAMED, as seen from PLACE, is `.git` of the workspace, or with AT_TOP the workspace itself. */
static bool leads_back(const struct look *look, const struct git_place *place, const char *named,
		       bool at_top)
{
	owned(git_place_done) struct git_place back = { .fd = -1 };
	owned(free_ptr) char *path = xstrdup(named ? named : "");
	char *slash = strrchr(path, '/');

	if (!at_top) {
		if (!slash || strcmp(slash, "/.git") != 0)
			return false;
		*slash = '\0';
	}
	return *path && git_place_open(place->path, path, &back) == 0 &&
	       strcmp(back.path, look->paths->workspace) == 0;
}

static void follow_alternates(const struct look *look, const struct git_place *objects,
			      unsigned depth);

/* The object store at NAMED, as seen from the store FROM; its repository is looked at, but not shown. */
static void take_alternate(const struct look *look, const struct git_place *from, const char *named,
			   unsigned depth)
{
	static const char what[] = "objects/info/alternates";
	owned(git_place_done) struct git_place store = { .fd = -1 };
	owned(git_place_done) struct git_place around = { .fd = -1 };
	const char *why;

	if (git_place_open(from->path, named, &store) < 0) {
		refuse(look, what, named,
		       errno == ELOOP ? "a link is on the way to it" : error_words(errno));
		return;
	}
	if (path_is_within(store.path, look->paths->workspace)) {
		follow_alternates(look, &store, depth + 1);
		return;
	}
	for (size_t i = 0; i < look->paths->git_count; i++) {
		if (path_is_within(store.path, look->paths->git[i].path))
			return;
	}
	why = why_not_here(look, &store);
	if (!why && (!str_ends(store.path, "/objects") ||
		     git_place_open(store.path, "..", &around) < 0 || why_no_store(&around)))
		why = "it is no object store of a git directory";
	if (!why && (depth >= DEPTH_MAX || look->paths->git_count >= SHOWN_MAX))
		why = "stores borrow from stores too often";
	if (why) {
		refuse(look, what, named, why);
		return;
	}
	git_show_objects(look->paths, &store);
	follow_alternates(look, &store, depth + 1);
}

static void follow_alternates(const struct look *look, const struct git_place *objects,
			      unsigned depth)
{
	owned(fd_close) int fd = file_open(objects->fd, "info/alternates", O_NOFOLLOW, NULL);
	owned(str_done) struct str text = STR_INIT;

	if (fd < 0 || depth > DEPTH_MAX || fd_read_all(fd, ALTERNATES_MAX, &text) < 0)
		return;
	for (char *line = text.data; line && *line;) {
		char *end = line + strcspn(line, "\n");
		bool is_last = !*end;

		*end = '\0';
		if (*line && *line != '#')
			take_alternate(look, objects, line, depth);
		line = is_last ? NULL : end + 1;
	}
}

/* A file `.git` that names OWN, which shares a repository with other worktrees. NULL, or why it is not shown. */
static const char *take_worktree(const struct look *look, const struct git_place *own,
				 const char *common_line)
{
	owned(git_place_done) struct git_place common = { .fd = -1 };
	owned(git_place_done) struct git_place objects = { .fd = -1 };
	owned(free_ptr) char *back = git_place_line(own, "gitdir", "");
	const char *name = strrchr(own->path, '/'), *why;

	if (git_place_open(own->path, common_line, &common) < 0)
		return "the directory that it shares is not there, or behind a link";
	size_t len = strlen(common.path);

	if (!path_is_within(own->path, common.path) ||
	    strncmp(own->path + len, "/worktrees/", strlen("/worktrees/")) != 0 ||
	    own->path + len + strlen("/worktrees/") != name + 1)
		return "it is no worktree of the directory that it shares";
	why = why_not_here(look, &common);
	if (!why)
		why = why_no_store(&common);
	if (why)
		return why;
	if (!leads_back(look, own, back, false))
		return "it is the worktree of another directory (git worktree repair mends that)";
	if (git_show_directory(look->paths, &common, own) < 0)
		return "its configuration cannot be read";
	look->paths->git_own = xstrdup(own->path + len + 1);
	if (git_place_open(common.path, "objects", &objects) == 0)
		follow_alternates(look, &objects, 0);
	return NULL;
}

/* The same where OWN has a repository for itself: a submodule's, or one made with --separate-git-dir. */
static const char *take_separate(const struct look *look, const struct git_place *own)
{
	owned(git_place_done) struct git_place objects = { .fd = -1 };
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *tree = NULL;
	owned(fd_close) int fd = -1;
	const char *why = why_no_store(own);

	if (why)
		return why;
	fd = file_open(own->fd, "config", O_NOFOLLOW, NULL);
	if (fd < 0 || fd_read_all(fd, GIT_CONFIG_MAX, &text) < 0)
		return "its configuration cannot be read";
	tree = git_config_find(&text, "core", "worktree");
	if (!leads_back(look, own, tree, true))
		return "it does not name this work tree (git config core.worktree \"$PWD\", run "
		       "here, makes it)";
	if (git_show_directory(look->paths, own, NULL) < 0)
		return "its configuration cannot be read";
	look->paths->git_own = xstrdup("");
	if (git_place_open(own->path, "objects", &objects) == 0)
		follow_alternates(look, &objects, 0);
	return NULL;
}

static void take_file(const struct look *look, const struct git_place *top)
{
	owned(git_place_done) struct git_place own = { .fd = -1 };
	owned(free_ptr) char *named = git_place_line(top, ".git", "gitdir: ");
	owned(free_ptr) char *common = NULL;
	const char *why;

	if (!named)
		return;
	if (git_place_open(top->path, named, &own) < 0) {
		refuse(look, ".git", named,
		       errno == ELOOP ? "a link is on the way to it" : error_words(errno));
		return;
	}
	if (path_is_within(own.path, top->path))
		return;
	why = why_not_here(look, &own);
	if (!why) {
		common = git_place_line(&own, "commondir", "");
		why = common ? take_worktree(look, &own, common) : take_separate(look, &own);
	}
	if (why)
		refuse(look, ".git", named, why);
}

/* Git follows such a link; what is behind it cannot be told apart from what a project brought along. */
static void refuse_link(const struct look *look, const char *dot_git)
{
	owned(free_ptr) char *real = path_real(dot_git);

	if (real && !path_is_within(real, look->paths->workspace))
		refuse(look, ".git", real,
		       "it is a link (a file with the line gitdir: and that path is not)");
}

void git_outside_read(uid_t caller, struct plan_paths *paths)
{
	const struct look look = { caller, paths };
	owned(git_place_done) struct git_place top = { .fd = -1 };
	owned(git_place_done) struct git_place objects = { .fd = -1 };
	char path[PATH_MAX];
	struct stat st;
	int len = paths->workspace ? snprintf(path, sizeof(path), "%s/.git", paths->workspace) : 0;

	if (len <= 0 || (size_t)len >= sizeof(path) || lstat(path, &st) < 0)
		return;
	if (S_ISLNK(st.st_mode)) {
		refuse_link(&look, path);
	} else if (S_ISREG(st.st_mode)) {
		if (git_place_open("/", paths->workspace, &top) == 0)
			take_file(&look, &top);
	} else if (S_ISDIR(st.st_mode)) {
		(void)snprintf(path + len, sizeof(path) - (size_t)len, "/objects/info/alternates");
		if (access(path, F_OK) == 0 &&
		    git_place_open(paths->workspace, ".git/objects", &objects) == 0)
			follow_alternates(&look, &objects, 0);
	}
}

void git_outside_done(struct plan_paths *paths)
{
	for (size_t i = 0; i < paths->git_count; i++) {
		for (size_t m = 0; m < paths->git[i].count; m++) {
			free(paths->git[i].masks[m].path);
			free(paths->git[i].masks[m].content);
		}
		free(paths->git[i].masks);
		free(paths->git[i].path);
	}
	free(paths->git);
	free(paths->git_own);
	strv_done(&paths->git_notes);
}
