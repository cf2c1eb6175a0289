/* SPDX-License-Identifier: Apache-2.0 */
/* Git directories of the host looked at before git is started in them. */
#include "app/git/git_plain.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

/* The first line of a small regular file behind PREFIX; NULL when it has none. The caller's to free. */
static char *read_line(const char *path, const char *prefix)
{
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, NULL);
	char text[LINE_MAX_BYTES + 1];
	ssize_t len;

	if (fd < 0)
		return NULL;
	len = read(fd, text, LINE_MAX_BYTES);
	if (len <= 0)
		return NULL;
	text[len] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return strncmp(text, prefix, strlen(prefix)) == 0 ? xstrdup(text + strlen(prefix)) : NULL;
}

/* PATH as seen from directory FROM. */
static char *path_from(const char *from, const char *path)
{
	return path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", from, path);
}

/* DOT_GIT is a directory, or a file that names one. */
static void take_directories(const char *above, const char *dot_git, bool is_directory,
			     struct strv *ret_directories)
{
	owned(free_ptr) char *named = is_directory ? NULL : read_line(dot_git, "gitdir: ");
	owned(free_ptr) char *own = named ? path_from(above, named) : xstrdup(dot_git);
	owned(free_ptr) char *common_file = xasprintf("%s/commondir", own);
	owned(free_ptr) char *common = read_line(common_file, "");

	if (!is_directory && !named)
		return;
	strv_add(ret_directories, own);
	if (common)
		strv_take(ret_directories, path_from(own, common));
}

/* Whether there is something, or that cannot be determined. */
static bool may_have(const char *directory, const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", directory, name);

	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR);
}

/* A folder called .git with nothing of git's in it is passed over, as git does. */
static bool is_git(const char *dot_git)
{
	struct stat st;

	return stat(dot_git, &st) == 0 &&
	       (!S_ISDIR(st.st_mode) || may_have(dot_git, "HEAD") || may_have(dot_git, "objects") ||
		may_have(dot_git, "refs"));
}

/* The directory nearest above TARGET, or itself, that has a .git; NULL: there is none. */
static char *find_top(const char *target)
{
	owned(free_ptr) char *dir = xstrdup(target);

	for (char *slash;; *slash = '\0') {
		owned(free_ptr) char *dot_git = xasprintf("%s/.git", dir);

		if (is_git(dot_git))
			return ptr_take(&dir);
		slash = strrchr(dir, '/');
		if (!slash)
			return NULL;
	}
}

char *git_plain_top(const char *target)
{
	char *top = find_top(target);

	return top ? top : xstrdup(target);
}

void git_plain_find(const char *target, struct strv *ret_directories)
{
	owned(free_ptr) char *top = find_top(target);
	owned(free_ptr) char *dot_git = top ? xasprintf("%s/.git", top) : NULL;
	struct stat st;

	if (dot_git && stat(dot_git, &st) == 0)
		take_directories(top, dot_git, S_ISDIR(st.st_mode), ret_directories);
}

int git_plain_check_whole(const struct strv *directories, struct error *err)
{
	const char *own = directories->items[0];
	const char *common = directories->items[directories->count - 1];
	char shown[STR_SHOWN_SIZE];

	if (may_have(own, "HEAD") && may_have(common, "objects") && may_have(common, "refs"))
		return 0;
	return error_set(err, ERROR_HOST,
			 "the git directory '%s' is damaged: HEAD, objects or refs is missing",
			 str_shown(own, shown));
}

/* Git waits for a fifo that it takes for a file. */
static int check_kind(const char *directory, const char *name, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", directory, name);
	char shown[STR_SHOWN_SIZE];
	struct stat st;

	/* A link to /dev/null is a usual way to have none. */
	if (stat(path, &st) < 0 || S_ISREG(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
		return 0;
	return error_set(err, ERROR_DENIED,
			 "'%s' is no regular file, git is not started: look at it and remove it",
			 str_shown(path, shown));
}

static int check_named(const char *directory, const char *name, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", directory, name);

	return git_plain_check_named(path, err);
}

int git_plain_check_home(const char *home, const char *config, struct error *err)
{
	static const char *const names[] = { "config", "ignore", "attributes" };
	owned(free_ptr) char *directory = config ? xasprintf("%s/git", config)
						 : xasprintf("%s/.config/git", home ? home : "");

	if (home &&
	    (check_kind(home, ".gitconfig", err) < 0 || check_named(home, ".gitconfig", err) < 0))
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (check_kind(directory, names[i], err) < 0)
			return -1;
	return check_named(directory, "config", err);
}

int git_plain_check(const struct strv *directories, struct error *err)
{
	static const char *const names[] = { "HEAD",
					     "index",
					     "config",
					     "config.worktree",
					     "packed-refs",
					     "commondir",
					     "shallow",
					     "info/exclude",
					     "info/attributes",
					     "info/grafts",
					     "objects/info/alternates" };

	for (size_t i = 0; i < directories->count; i++) {
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			if (check_kind(directories->items[i], names[n], err) < 0)
				return -1;
		if (check_named(directories->items[i], "config", err) < 0 ||
		    check_named(directories->items[i], "config.worktree", err) < 0)
			return -1;
	}
	return 0;
}

static int check_log(const char *directory, const char *name, struct error *err)
{
	owned(fd_close) int dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned(free_ptr) char *path = xasprintf("logs/%s", name);
	owned(fd_close) int fd =
		dir_fd < 0 ? -1 : sys_open_beneath(dir_fd, path, O_PATH | O_NOFOLLOW);
	char shown[STR_SHOWN_SIZE];
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return 0;
	return error_advise(err, ERROR_DENIED, "look at it and remove it",
			    "'%s/%s' is a link or no regular file, and git would write through it: "
			    "nothing is committed",
			    str_shown(directory, shown), path);
}

int git_plain_check_logs(const struct strv *directories, struct error *err)
{
	owned(free_ptr) char *head = NULL;
	owned(free_ptr) char *branch = NULL;

	if (directories->count == 0)
		return 0;
	head = xasprintf("%s/HEAD", directories->items[0]);
	branch = read_line(head, "ref: ");
	for (size_t i = 0; i < directories->count; i++)
		if (check_log(directories->items[i], "HEAD", err) < 0 ||
		    (branch && check_log(directories->items[i], branch, err) < 0))
			return -1;
	return 0;
}
