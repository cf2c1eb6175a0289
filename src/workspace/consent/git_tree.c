/* SPDX-License-Identifier: Apache-2.0 */
/* Git directories by what they hold, on the host and in what the changes bring. */
#include "workspace/consent/git_tree.h"

#include "base/core/own.h"
#include "workspace/consent/name_fold.h"
#include "workspace/disk/sys.h"
#include "workspace/consent/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A git directory holds the first of these and one of the others. */
static const char *const marks[] = { "HEAD", "objects", "commondir" };
#define MARKS (sizeof(marks) / sizeof(marks[0]))

/* A look that fails says that nothing is there only with these errors; after any other a person is asked. */
static bool is_absence(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ENAMETOOLONG || errnum == ELOOP ||
	       errnum == EXDEV;
}

static bool may_be_there(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || !is_absence(errno);
}

static bool holds_marks(const char *dir)
{
	owned(free_ptr) char *head = xasprintf("%s/%s", dir, marks[0]);
	bool has_rest = false;

	for (size_t i = 1; i < MARKS; i++) {
		owned(free_ptr) char *rest = xasprintf("%s/%s", dir, marks[i]);

		has_rest |= may_be_there(rest);
	}
	return has_rest && may_be_there(head);
}

/*
 * Whether git reads REST, a path below a git directory. A work tree may lie in a bare repository, beside what is git's:
 * a folder that git does not know is none of its own.
 */
static bool is_read_by_git(const char *rest)
{
	static const char *const folders[] = {
		"branches", "hooks",	 "info",	 "lfs",		 "logs", "lost-found",
		"modules",  "objects",	 "rebase-apply", "rebase-merge", "refs", "reftable",
		"remotes",  "sequencer", "svn",		 "worktrees"
	};
	char name[NAME_FOLD_SIZE];

	if (!*name_fold(rest, name))
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strcmp(folders[i], name) == 0)
			return true;
	return false;
}

/* The part of ROOT below the git directory that it is or lies in, the outermost. */
static char *find_above(const char *root)
{
	owned(free_ptr) char *dir = xstrdup(root);

	for (char *slash = strchr(dir + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (trigger_is_git_name(strrchr(dir, '/') + 1) || holds_marks(dir)) {
			const char *below = root + strlen(dir);
			owned(free_ptr) char *rest = xasprintf("%s/", below + strspn(below, "/"));

			if (rest[0] == '/')
				return xstrdup("");
			if (is_read_by_git(rest))
				return ptr_take(&rest);
		}
		if (!slash)
			return NULL;
		*slash = '/';
	}
}

void git_tree_init(struct git_tree *tree, const char *root, int root_fd)
{
	*tree = (struct git_tree){ .root_fd = root_fd, .moved = STRV_INIT };
	tree->above = root && root[0] == '/' && root[1] ? find_above(root) : NULL;
}

void git_tree_done(struct git_tree *tree)
{
	free_ptr(&tree->above);
	path_set_done(&tree->coming);
	path_set_done(&tree->git);
	path_set_done(&tree->plain);
	strv_done(&tree->moved);
	str_done(&tree->clear);
}

struct git_tree *git_tree_new(const char *root, int root_fd)
{
	struct git_tree *tree = xmalloc(sizeof(*tree));

	git_tree_init(tree, root, root_fd);
	return tree;
}

void git_tree_free(struct git_tree *tree)
{
	if (tree)
		git_tree_done(tree);
	free(tree);
}

void git_tree_add(struct git_tree *tree, const char *path)
{
	owned(str_done) struct str folded = STR_INIT;
	size_t start;

	name_fold_path(path, &folded);
	/* Every part of it: directories may come without an entry of their own. */
	for (size_t at = 0; at < folded.len; at = start + 1) {
		size_t len = strcspn(folded.data + at, "/");

		start = at + len;
		for (size_t i = 0; i < MARKS; i++) {
			if (strlen(marks[i]) == len &&
			    strncasecmp(folded.data + at, marks[i], len) == 0) {
				owned(free_ptr) char *part = xstrndup(folded.data, start);

				(void)path_set_add(&tree->coming, part);
			}
		}
	}
}

void git_tree_add_moved(struct git_tree *tree, const char *from, const char *to)
{
	strv_add(&tree->moved, to);
	strv_add(&tree->moved, from);
}

/* IF_UNKNOWN is the answer where that cannot be found out. */
static bool host_has(const struct git_tree *tree, const char *path, bool if_unknown)
{
	owned(fd_close) int fd = -1;

	if (tree->root_fd < 0)
		return false;
	fd = sys_open_beneath(tree->root_fd, path, O_PATH | O_NOFOLLOW);
	return fd >= 0 || (!is_absence(errno) && if_unknown);
}

/* Whether MARK will be in DIR ("" for the root), or, not IS_AFTER, is there for certain. */
static bool has_mark(const struct git_tree *tree, const char *dir, const char *mark, bool is_after)
{
	owned(free_ptr) char *path = xasprintf("%s%s%s", dir, *dir ? "/" : "", mark);
	owned(str_done) struct str folded = STR_INIT;

	if (host_has(tree, path, is_after))
		return true;
	name_fold_path(path, &folded);
	if (!is_after)
		return false;
	if (tree->coming.count > 0 && path_set_has(&tree->coming, str_cstr(&folded)))
		return true;
	for (size_t i = 0; i + 1 < tree->moved.count; i += 2) {
		const char *to = tree->moved.items[i], *from = tree->moved.items[i + 1];
		size_t len = strlen(to);

		if (strncmp(path, to, len) == 0 && path[len] == '/') {
			owned(free_ptr) char *old = xasprintf("%s%s", from, path + len);

			if (host_has(tree, old, true))
				return true;
		}
	}
	return false;
}

static bool is_git_by_content(const struct git_tree *tree, const char *dir, bool is_after)
{
	return has_mark(tree, dir, marks[0], is_after) &&
	       (has_mark(tree, dir, marks[1], is_after) || has_mark(tree, dir, marks[2], is_after));
}

/* Whether the first LEN bytes of PATH name a git directory. */
static bool is_git(struct git_tree *tree, const char *path, size_t len)
{
	owned(free_ptr) char *dir = xstrndup(path, len);
	const char *slash = strrchr(dir, '/');
	bool found;

	if (path_set_has(&tree->git, dir) || path_set_has(&tree->plain, dir))
		return path_set_has(&tree->git, dir);
	found = (len > 0 && trigger_is_git_name(slash ? slash + 1 : dir)) ||
		is_git_by_content(tree, dir, true);
	(void)path_set_add(found ? &tree->git : &tree->plain, dir);
	return found;
}

/* Whether PATH is of the git directory that its first LEN bytes name. */
static bool is_of_git(struct git_tree *tree, const char *path, size_t len)
{
	owned(free_ptr) char *dir = xstrndup(path, len);
	const char *slash = strrchr(dir, '/');

	return is_git(tree, path, len) &&
	       ((len > 0 && trigger_is_git_name(slash ? slash + 1 : dir)) ||
		is_read_by_git(path + len + (len > 0 ? 1 : 0)));
}

static bool is_clear(const struct git_tree *tree, const char *path)
{
	size_t len = tree->clear.len;

	return len > 0 && strncmp(path, tree->clear.data, len) == 0 && !strchr(path + len, '/');
}

/* The next git directory that PATH is of from byte AT on, as the length of its name; SIZE_MAX: there is none. */
static size_t next_git(struct git_tree *tree, const char *path, size_t at)
{
	bool has_git = at > 0;

	if (at == 0 && is_clear(tree, path))
		return SIZE_MAX;
	for (;;) {
		const char *slash;

		if (is_of_git(tree, path, at))
			return at;
		has_git |= is_git(tree, path, at);
		slash = strchr(path + at + (at > 0 ? 1 : 0), '/');
		if (!slash)
			break;
		at = (size_t)(slash - path);
	}
	if (!has_git) {
		str_clear(&tree->clear);
		str_add_bytes(&tree->clear, path, at + (at > 0 ? 1 : 0));
	}
	return SIZE_MAX;
}

/* Where the next part of PATH ends that starts behind byte AT; SIZE_MAX: it is the last. */
static size_t next_part(const char *path, size_t at)
{
	const char *slash = strchr(path + at + (at > 0 ? 1 : 0), '/');

	return slash ? (size_t)(slash - path) : SIZE_MAX;
}

/* Whether PATH is of the git directory that the root itself is or lies in. */
static bool is_above(const struct git_tree *tree, const char *path)
{
	owned(free_ptr) char *whole = tree->above ? xasprintf("%s%s", tree->above, path) : NULL;

	return whole && is_read_by_git(whole);
}

bool git_tree_holds(struct git_tree *tree, const char *path)
{
	return is_above(tree, path) || next_git(tree, path, 0) != SIZE_MAX;
}

/* Below a repository these are repositories themselves, or parts of one, that are judged by what they are. */
static bool is_passed_on(const char *rest)
{
	return strncmp(rest, "modules/", 8) == 0 || strncmp(rest, "worktrees/", 10) == 0;
}

const char *git_tree_why(struct git_tree *tree, const char *path)
{
	/* There is no repository to compare with below the root: all of it asks. */
	const char *why = is_above(tree, path) ? "git data" : NULL;

	for (size_t at = next_git(tree, path, 0), next; !why && at != SIZE_MAX; at = next) {
		const char *rest = path + at + (at > 0 ? 1 : 0);
		size_t part = next_part(path, at);

		next = part == SIZE_MAX ? SIZE_MAX : next_git(tree, path, part);
		if (next == SIZE_MAX || !is_passed_on(rest))
			why = trigger_why_in_git(rest);
	}
	return why;
}

bool git_tree_completes(struct git_tree *tree, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = slash ? (size_t)(slash - path) : 0;
	char folded[NAME_FOLD_SIZE];
	bool is_mark = false;

	(void)name_fold(name, folded);
	for (size_t i = 0; i < MARKS; i++)
		is_mark |= strcasecmp(folded, marks[i]) == 0;
	if (!is_mark)
		return false;
	owned(free_ptr) char *dir = xstrndup(path, len);
	const char *dir_slash = strrchr(dir, '/');

	return !trigger_is_git_name(dir_slash ? dir_slash + 1 : dir) && is_git(tree, path, len) &&
	       !is_git_by_content(tree, dir, false);
}

bool git_tree_repository(struct git_tree *tree, const char *path, size_t *ret_len,
			 const char **ret_rest)
{
	size_t at = is_above(tree, path) ? SIZE_MAX : next_git(tree, path, 0);

	if (at == SIZE_MAX)
		return false;
	/* The innermost. */
	for (size_t next = at; next != SIZE_MAX;) {
		size_t part = next_part(path, next);

		at = next;
		next = part == SIZE_MAX ? SIZE_MAX : next_git(tree, path, part);
	}
	*ret_len = at;
	*ret_rest = path + at + (at > 0 ? 1 : 0);
	return true;
}
