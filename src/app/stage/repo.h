/* SPDX-License-Identifier: Apache-2.0 */
/* A promoted change as a git commit. Only in the program with libraries. */
#ifndef APP_REPO_H
#define APP_REPO_H

#include "base/core/error.h"
#include "base/core/value.h"

struct app_commit {
	const char *sandbox, *message;
	const char *promotion_id; /* the one that must be the newest; NULL: whichever is */
	const char *branch; /* with promotion_id: the one that must be checked out; NULL: none is */
	const char *const *environ;
};

/*
 * Commits the paths of the sandbox's newest live promotion, as they are now, on the branch that is checked out: {commit,
 * branch, promotion_id, run_id, paths, skipped}; skipped are those git ignores. ERROR_NOT_FOUND without a promotion or
 * a repository, ERROR_CONFLICT when the branch moved meanwhile, nothing differs from it, or it is not what was expected. See
 * git.h for what is never run.
 */
int app_repo_commit(const struct app_commit *wish, struct value **ret_answer, struct error *err);

/* What it would be about: {target, branch, promotion_id, files, paths}; of many files, the first paths. */
int app_repo_look(const struct app_commit *wish, struct value **ret_answer, struct error *err);

#endif
