/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that travel: what one changed as a signed bundle at a remote, and from there into a new sandbox elsewhere.
 * Only in the program with libraries.
 *
 *   push   a snapshot -> what it changed, with the base of each path (seal.c) -> what the last push had (compose.c)
 *          -> contents, list, signed head; accepted only as the successor of the head that the sandbox has seen (known.c)
 *   pull   head, signature, digests, limits (pull_check.c) -> contents into the store -> a draft sandbox, filled three-way
 *          (app/stage/fill.h) -> a new sandbox, by one rename
 *
 * Nothing that is there is changed: a push adds files to the remote, a pull adds a sandbox. docs/travel.md says why no work
 * can be lost.
 */
#ifndef APP_TRAVEL_H
#define APP_TRAVEL_H

#include "app/sandbox/sandbox.h"
#include "base/core/value.h"

struct app_push {
	const char *sandbox, *remote;
	const char *name; /* at the remote; NULL: as it was exchanged last, else the sandbox's */
};

/* {sandbox, remote, name, sequence, bundle, files, sent, is_new, snapshot, left_out: [paths]}. */
int app_push(const struct app_push *push, struct value **ret_answer, struct error *err);

struct app_pull {
	const char *remote;
	const char *name;     /* NULL: the only one there */
	const char *sandbox;  /* that is made; NULL: NAME */
	const char *onto;     /* its changes are merged with these; NULL: with the workspace */
	const char *strategy; /* merge, ours, theirs, lww; NULL: merge */
	bool allow_links;     /* also those that lead out of the workspace */
	const struct request *request; /* of the new sandbox */
};

/*
 * {sandbox, remote, name, sequence, files, created, conflicts: [..]}. With ERROR_CONFLICT the answer may be set, too: then no
 * sandbox was made and the conflicts wait.
 */
int app_pull(const struct app_pull *pull, struct value **ret_answer, struct error *err);

/* Those that wait, oldest first: {id, time, sandbox, remote, name, sequence, path, what, base, ours, theirs, resolution}. */
int app_conflicts(struct value **ret_list, struct error *err);

enum conflict_answer { CONFLICT_OURS, CONFLICT_THEIRS, CONFLICT_FILE };

/* Decides one; FILE is read with CONFLICT_FILE only. The record as it is then. */
int app_conflict_resolve(const char *id, enum conflict_answer answer, const char *file,
			 struct value **ret_answer, struct error *err);

/* The content of its side "base", "ours" or "theirs". */
int app_conflict_side(const char *id, const char *side, struct str *ret_bytes, struct error *err);

#endif
