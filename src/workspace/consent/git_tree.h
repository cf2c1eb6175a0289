/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git directories of a tree as it will be after a promotion: what the host has, and what the changes bring.
 *
 * A git directory is known by what it holds (HEAD, and objects or commondir), not by its name: git obeys a bare
 * repository under any name, a submodule's below .git/modules, a work tree's below .git/worktrees. Because the changes
 * count as well, two promotions cannot put one together from parts that are harmless each.
 */
#ifndef WORKSPACE_GIT_TREE_H
#define WORKSPACE_GIT_TREE_H

#include "base/core/str.h"
#include "workspace/disk/path_set.h"

struct git_tree {
	int root_fd; /* the host's tree; -1: only what comes counts */
	char *above; /* ROOT's own path below a git directory it lies in, with a slash at its end; NULL: in none */
	struct path_set
		coming; /* folded paths of what makes a git directory, where the changes bring it */
	struct path_set git, plain; /* directories that were looked at */
	struct str
		clear; /* the last directory that is and lies in none: most questions are about its neighbours */
	struct strv moved; /* renamed directories: the new path, the host's */
};

/* The tree below ROOT, absolute, which is open as ROOT_FD (borrowed). */
void git_tree_init(struct git_tree *tree, const char *root, int root_fd);
void git_tree_done(struct git_tree *tree);

/* The same on the heap; git_tree_free takes NULL. */
struct git_tree *git_tree_new(const char *root, int root_fd);
void git_tree_free(struct git_tree *tree);

/* PATH will be there. All are added before the first question. */
void git_tree_add(struct git_tree *tree, const char *path);
/* The host's directory FROM will be at TO with all that is in it. */
void git_tree_add_moved(struct git_tree *tree, const char *from, const char *to);

/* Whether PATH lies in a git directory. */
bool git_tree_holds(struct git_tree *tree, const char *path);

/* Why git runs or obeys what lies at PATH, by its place in the git directories it lies in; NULL: it is in none, or data. */
const char *git_tree_why(struct git_tree *tree, const char *path);

/* Whether PATH is a part without which its directory, which has no name of git's, would not be a git directory. */
bool git_tree_completes(struct git_tree *tree, const char *path);

/*
 * The repository that the git data at PATH belongs to: how long the part of PATH is that names its git directory ("" for
 * the root), and where the rest begins. False when it lies in none, or when the root itself lies in one.
 */
bool git_tree_repository(struct git_tree *tree, const char *path, size_t *ret_len,
			 const char **ret_rest);

#endif
