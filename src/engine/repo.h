/* A promoted change as a git commit. Only in the program with libraries. */
#ifndef ENGINE_REPO_H
#define ENGINE_REPO_H

#include "base/error.h"
#include "base/value.h"

/*
 * Commits the paths of SANDBOX's newest live promotion, as they are now, on the branch that is checked out: {commit,
 * branch, promotion_id, run_id, paths, skipped}; skipped are those git ignores. ERROR_NOT_FOUND without a promotion or
 * a repository, ERROR_CONFLICT when the branch moved meanwhile or nothing differs from it. See git.h for what is
 * never run.
 */
int engine_repo_commit(const char *sandbox, const char *message, const char *const *environ,
		       struct value **ret_answer, struct error *err);

#endif
