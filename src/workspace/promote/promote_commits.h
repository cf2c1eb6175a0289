/* SPDX-License-Identifier: Apache-2.0 */
/* Commits made in a git directory outside the workspace: what a promotion of them selects. Private to promote. */
#ifndef WORKSPACE_PROMOTE_COMMITS_H
#define WORKSPACE_PROMOTE_COMMITS_H

#include "workspace/promote/promote_parts.h"

/* promote_select for a request of commits. */
int promote_select_commits(struct promote *promote, struct error *err);

/* How a conflict about the item is resolved, whatever is asked for. */
enum promote_strategy promote_strategy_for(const struct promote *promote, const struct item *item);

#endif
