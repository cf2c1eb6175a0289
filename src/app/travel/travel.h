/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that travel: what one changed as a signed bundle at a remote, and from there into a sandbox elsewhere.
 * Only in the program with libraries.
 *
 *   push   seal (app/stage/stage_seal.c) -> contents, list -> a number of the remote -> its signed head
 *   pull   heads, signatures, digests, limits -> contents into the store -> a draft sandbox, filled three-way
 *          (app/stage/fill.h) -> the sandbox, by one rename or one pointer
 *
 * A head names those it was made from; what no other head names is pulled, in the order of the remote. Nothing appears
 * before all of it was verified and decided; conflicts wait in the store (conflicts/ID) for a person.
 */
#ifndef APP_TRAVEL_H
#define APP_TRAVEL_H

#include "app/sandbox/sandbox.h"
#include "base/core/value.h"

struct app_push {
	const char *sandbox, *remote;
	const char *name; /* at the remote; NULL: the sandbox's */
};

/* {sandbox, remote, name, sequence, bundle, files, bytes, sent}. */
int app_push(const struct app_push *push, struct value **ret_answer, struct error *err);

struct app_pull {
	const char *remote, *name;
	const char *sandbox;	       /* NULL: NAME. One that is there is merged with */
	const char *strategy;	       /* merge, ours, theirs, lww; NULL: merge */
	bool allow_links;	       /* also those that lead out of the workspace */
	const struct request *request; /* for one that is not there yet */
};

/*
 * {sandbox, remote, name, sequence: [..], files, created, saved, conflicts: [..]}. With ERROR_CONFLICT the answer is set, too, and
 * the sandbox is as it was.
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
