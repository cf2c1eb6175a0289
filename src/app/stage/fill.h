/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle put into a sandbox, three-way: by stages into a clone of their target, by `pull` into a sandbox of its own. */
#ifndef APP_FILL_H
#define APP_FILL_H

#include "decide/stage/bundle.h"
#include "workspace/store/store.h"
#include "workspace/view/view.h"

/* What neither side decides. */
struct fill_conflict {
	const struct bundle_change *change;
	const struct bundle_side *now;
	int now_fd;	  /* what is there, when it is a file; -1 */
	const char *what; /* for people: "was changed in the same lines there" */
	/* The answer: BUNDLE_KEEP, BUNDLE_NEW, or BUNDLE_MERGE for the content in the store with this digest. */
	enum bundle_take take;
	char sha256[SHA256_HEX_SIZE];
};

struct fill {
	const struct bundle *bundle;
	const struct store *store; /* which has the contents */
	int dir_fd;		   /* where the archive is written */
	const char *sandbox;	   /* that gets it; idle */
	const char *target;	   /* its workspace on the host */
	const char *strategy;
	const char *const *environ;
	const char *owner;
	uint64_t owner_bytes;
	bool leaves_git; /* commits go as such, so git's own data are not carried as files */
	bool by_view; /* what the sandbox shows decides, not the host; nothing may lie below a link */
	/*
	 * Asked about each conflict, and at last with CONFLICT NULL: failing then leaves the sandbox as it was. NULL: the
	 * first conflict is the error.
	 */
	int (*settle)(struct fill_conflict *conflict, void *cookie, struct error *err);
	void *cookie;
};

/* ERROR_CONFLICT names where the target went another way. */
int bundle_fill(const struct fill *fill, struct error *err);

/* What a view shows at the absolute PATH, and where that lies; *ret_fd: a file for reading, else -1. Other kinds are '?'. */
int fill_look(const struct view_stack *stack, const char *path, enum view_kind *ret_kind,
	      struct bundle_side *ret_side, int *ret_fd, struct error *err);

struct fill_parents {
	const struct view_stack *stack;
	const char *workspace;
	const struct bundle *bundle; /* sorted */
	const bool *gives_way;	     /* of each change so far: what is there is removed first */
};

/* Refuses a PATH of the workspace that leads through a link. */
int fill_check_parents(const struct fill_parents *parents, const char *path, struct error *err);

#endif
