/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git directories outside the workspace that it needs: the one that a file `.git` names (a linked worktree, a submodule, a
 * separate git directory), and the object stores that are borrowed from (objects/info/alternates).
 *
 * What names them lies in the workspace and may be anybody's. A git directory is therefore shown only if it is one by
 * content, belongs to the caller and itself names this workspace; of a store that is borrowed from, the objects alone.
 */
#ifndef APP_GIT_OUTSIDE_H
#define APP_GIT_OUTSIDE_H

#include "plan/plan.h"

/* Fills the git members of PATHS, whose workspace is known. One or two system calls where there is nothing outside. */
void git_outside_read(uid_t caller, struct plan_paths *paths);
void git_outside_done(struct plan_paths *paths);

#endif
