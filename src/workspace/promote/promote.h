/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a delta to the host: selection, bundle, consent, conflicts, merge, transaction, record.
 *
 * Three-way per aspect: where only one side changed, that side is taken; where both did to the same, that; else it is
 * a conflict, which the strategy resolves or which stops everything. What was decided from is what is applied: the
 * bundle's digest covers every path, content and attribute, staging re-hashes, and the transaction re-checks
 * the identities of the host. The stack is what is promoted: that of the snapshot, when one is asked for.
 */
#ifndef WORKSPACE_PROMOTE_H
#define WORKSPACE_PROMOTE_H

#include "workspace/consent/git_probe.h"
#include "workspace/text/merge.h"
#include "workspace/base/origin.h"

enum promote_strategy {
	STRATEGY_FAIL,
	STRATEGY_MERGE,
	STRATEGY_OURS,
	STRATEGY_THEIRS,
	STRATEGY_LWW,
	STRATEGY_MERGE_OURS,   /* merge, the host's lines for what is left */
	STRATEGY_MERGE_THEIRS, /* merge, the sandbox's lines */
};

/* "fail", "merge", "merge+ours", ...; ERROR_USAGE with the nearest. */
int promote_strategy_find(const char *name, enum promote_strategy *ret_strategy, struct error *err);

struct conflict_side {
	bool exists;
	char type; /* f d l p s c b, 0 when absent */
	struct txn_identity identity;
	char sha256[SHA256_HEX_SIZE]; /* "" when it is no file or not known */
};

struct conflict {
	char id[LAYER_ID_SIZE];
	char *path;
	const char *
		kind; /* content binary delete/modify modify/delete add/add type dir-delete parent-gone rename/modify rename/rename base-lost busy unresolved mode owner xattr */
	enum origin_quality base_quality;
	struct conflict_side base, ours, theirs;
	struct merge_conflict *hunks;
	size_t hunk_count;
	struct strv names;	/* dir-delete: the entries the host has inside */
	const char *resolution; /* NULL: open; else the strategy that decided */
	char loser
		[SHA256_HEX_SIZE]; /* content that was not taken, kept in the store; "" for none */
};

/* A change that needs a person's word: --allow-path, --allow-privilege, --allow-special. */
struct consent {
	char *path;
	char *why; /* "git hook", "setuid", "fifo or device node", "link leads out of the workspace" */
	const char *flag; /* what permits it: "--allow-path" */
};

/*
 * Sets ret_ignored[i] where the host's version control leaves PATHS[i] alone. Paths are relative to ROOT; one
 * that is or was a directory ends in a slash.
 */
typedef int promote_ignored_finder(const char *root, const struct strv *paths, bool *ret_ignored,
				   struct error *err);

/* Refuses content that must not be taken over: that of FD (-1: none), and LEN bytes of TEXT (NULL: none), at PATH. */
typedef int promote_content_check(void *cookie, int fd, const char *text, size_t len,
				  const char *path, struct error *err);

struct promote_request {
	/* Lists are borrowed. */
	struct strv
		paths; /* selection: as `diff --name-status` prints them, or globs; empty: all in the workspace */
	struct strv allow_paths; /* paths or globs a person agreed to */
	bool allow_privilege, allow_special,
		allow_all; /* allow_all: the user agreed to the whole list */
	const struct strv *
		agreed; /* instead of all those: "WHY PATH" of exactly what a person was shown; NULL */
	git_probe_runner *run_git; /* for what git's data come to name; NULL: all of it asks */
	const struct strv *
		named; /* paths, relative to the workspace, that the host's git configuration names; NULL */
	const struct strv *
		leave; /* paths, taken literally, that stay in the sandbox with all that cannot go without them; NULL */
	promote_ignored_finder *
		find_ignored; /* what it finds is left out, unless PATHS are given; NULL: nothing is */
	promote_content_check *check_content; /* of all that the sandbox brings; NULL: none */
	void *check_cookie;
	const char *rules; /* the host's directory whose rules that goes by; NULL: the workspace */
	enum promote_strategy strategy;
	const char *target; /* another root than the workspace, or NULL */
	bool swap;	    /* exchange the target directory itself */
	const char
		*artifact; /* with TO: one file or directory of the view to a place of the host */
	const char *to;
	bool keeps_existing; /* of an artifact: what is there already is a conflict */
	const char *
		commits; /* the sandbox's workspace is a git directory: of it only new objects, and the branch
			  * of the worktree whose own directory this is, relative ("" for the whole); NULL */
	const char *workspace; /* of commits: where an undo looks for them; NULL */
	bool keeps_head; /* of commits: the workspace's own git directory, whose HEAD, index and files stay the host's */
	bool dry_run;
	bool approx_base;  /* where the base is lost, take what git had there before for it */
	bool into_sandbox; /* merged files with markers go into the sandbox instead of the host */
	const char *snapshot;		/* promote that snapshot instead of the present; NULL */
	const struct strv *own_folders; /* absolute paths, programs too, never written to; NULL */
	const char *digest; /* of the bundle that was reviewed: anything else is refused; NULL */
	const char *sandbox_name, *owner;
};

#define IGNORED_AT_MAX 100

struct promotion {
	char id[LAYER_ID_SIZE];		      /* "" when nothing was applied */
	char digest[SHA256_HEX_SIZE];	      /* of the bundle */
	struct strv applied, merged, skipped; /* paths, relative to the target */
	char *goal;		    /* of an artifact: where it goes, absolute; else NULL */
	struct strv siblings;	    /* other sandboxes that stand on the target: their base moved */
	struct conflict *conflicts; /* open ones, and resolved ones with their resolution */
	size_t conflict_count;
	struct consent *consents; /* unanswered */
	size_t consent_count;
	size_t ignored; /* changes left in the sandbox because the host's version control ignores them */
	struct strv
		ignored_at; /* the topmost of these, IGNORED_AT_MAX at most; relative to the target */
	bool is_git;	    /* something of it lies in a git directory */
	bool has_refs; /* of commits: the sandbox changed refs to what the host does not have */
};

void promotion_done(struct promotion *promotion);

/*
 * Promotes. 0 done (or would be done, with dry_run); -1 with ERROR_CONSENT (checked first), ERROR_CONFLICT, or what
 * failed: then the host is as it was. *ret_promotion is filled as far as known in every case.
 */
int promote_run(struct sandbox *sandbox, struct view_stack *stack,
		const struct promote_request *request, struct promotion *ret_promotion,
		struct error *err);

#endif
