/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host's git ignores.
 *
 * Git itself is asked, on the host's work tree as it is now: it reads .gitignore files, info/exclude and the file that
 * core.excludesFile names, and nothing that a sandbox holds. The work tree nearest to a path decides about it, so that
 * a submodule or a nested clone goes by its own rules. Tracked files are never ignored; without git nothing is.
 * A repository that git cannot read ignores something unknown: that is an error.
 */
#ifndef APP_GIT_IGNORED_H
#define APP_GIT_IGNORED_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>

/*
 * Sets ret_ignored[i] where git ignores PATHS[i]. Paths are relative to ROOT; one that ends in a slash is or was a
 * directory. -1 when there is a repository, but git cannot read it or does not answer within 10 s.
 */
int git_ignored(const char *root, const struct strv *paths, bool *ret_ignored, struct error *err);

#endif
