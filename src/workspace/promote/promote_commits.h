/* SPDX-License-Identifier: Apache-2.0 */
/* Commits made in a git directory outside the workspace: what a promotion of them selects. Private to promote. */
#ifndef WORKSPACE_PROMOTE_COMMITS_H
#define WORKSPACE_PROMOTE_COMMITS_H

#include "workspace/promote/promote_parts.h"

/* promote_select for a request of commits. */
int promote_select_commits(struct promote *promote, struct error *err);

/* The file at PATH as the host or the sandbox has it, "" when there is none. -1: it is there and cannot be read. */
int promote_read_side(const struct promote *promote, const char *path, bool is_inside,
		      struct str *ret_text, struct error *err);

/* promote_plan.c: the steps go; the items stay. */
void promote_drop_plan(struct promote *promote);

/* What happens to the branch that HEAD names in the sandbox. Ids are "" where there is none. */
struct branch_move {
	char *branch;
	char *from, *to; /* ids: the host's when it was looked at, the sandbox's */
	bool is_forward; /* the sandbox's has the host's among its ancestors */
};

/* Notes the move of BRANCH; refuses one that only a packed ref shows, and another branch of the host's (unless IS_OWN). */
int promote_note_branch(struct promote *promote, const char *branch, bool is_own,
			struct error *err);
void branch_move_free(struct branch_move *move);
/* After selection: has git look at new objects and at the move, in a throw-away sandbox. */
int promote_check_commits(struct promote *promote, struct error *err);
/* After judgement: the host's branch is what was looked at; a move that drops commits of the host's needs consent. */
int promote_check_move(struct promote *promote, struct error *err);

/* How a conflict about the item is resolved, whatever is asked for. */
enum promote_strategy promote_strategy_for(const struct promote *promote, const struct item *item);

#endif
