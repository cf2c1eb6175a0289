/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a work tree that the host's git configuration names: git runs or obeys them wherever they lie. */
#ifndef APP_GIT_NAMED_H
#define APP_GIT_NAMED_H

#include "base/core/error.h"
#include "base/core/str.h"

/*
 * Paths relative to WORKSPACE: folders of hooks (core.hooksPath), files that are included, filters, drivers, monitors and
 * other programs, as the user's, the machine's and the repository's configuration on the host have them now. -1
 when it cannot be read: then "" is among them, which names every path.
 */
int git_named(const char *workspace, struct strv *ret_paths, struct error *err);

#endif
