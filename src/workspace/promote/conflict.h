/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three versions of one path judged aspect by aspect: what the host gets, and what cannot be decided.
 *
 * Pure: digests and numbers in, a verdict out. `ours` is the host, `theirs` the sandbox.
 */
#ifndef WORKSPACE_CONFLICT_H
#define WORKSPACE_CONFLICT_H

#include "workspace/promote/promote.h"

struct aspects {
	char type; /* f d l p s c b; 0 when absent */
	uint32_t mode, uid, gid;
	uint64_t device; /* number of a device; else 0 */
	const char
		*content; /* digest of a file's bytes, target of a link; any text, compared only */
	const char *xattrs; /* digest, "" for none */
};

/* The kind of a file that still has the markers of an earlier conflict. */
#define CONFLICT_UNRESOLVED "unresolved"

enum take { TAKE_OURS, TAKE_THEIRS, TAKE_MERGE, TAKE_UNDECIDED };

struct verdict {
	const char *kind; /* of the conflict; NULL when there is none */
	enum take object; /* whole: existence and type. Only with TAKE_MERGE do the others count */
	enum take content, mode, owner, xattrs;
};

/* BASE NULL: it is not known. */
void conflict_judge(const struct aspects *base, const struct aspects *ours,
		    const struct aspects *theirs, struct verdict *ret_verdict);

/* When each side last changed, for "the later wins"; 0 when unknown. */
struct conflict_times {
	uint64_t ours_ns, theirs_ns;
	bool comparable;
};

enum outcome { OUTCOME_OPEN, OUTCOME_OURS, OUTCOME_THEIRS, OUTCOME_MERGE };

/* What STRATEGY does with a conflict; OUTCOME_MERGE: try the texts first, and ask again when they do not combine. */
enum outcome conflict_outcome(enum promote_strategy strategy, const struct verdict *verdict,
			      const struct conflict_times *times);
/* The same after merging texts left conflicts. */
enum outcome conflict_outcome_unmerged(enum promote_strategy strategy);

/* Puts one side where the verdict has none. */
void conflict_settle(struct verdict *verdict, enum take side);

/* The name of a strategy, as in the resolution of a conflict. */
const char *promote_strategy_name(enum promote_strategy strategy);

/* Whether it leaves the host as it is. */
bool verdict_is_nothing(const struct verdict *verdict);

#endif
