/* SPDX-License-Identifier: Apache-2.0 */
/* A child that makes, removes, halts, copies or looks at a sandbox. */
#ifndef FRONT_E2B_ERRAND_H
#define FRONT_E2B_ERRAND_H

#include "front/e2b/copies.h"

enum errand_kind {
	ERRAND_START,
	ERRAND_REMOVE,
	ERRAND_FREEZE,
	ERRAND_STOP,
	ERRAND_COPY,
	ERRAND_FORK,
	ERRAND_LOOK,
	ERRAND_JUDGE
};
struct errand_wish {
	enum errand_kind kind;
	struct row *row; /* NULL: of no row any more */
	const char *id;
	struct http_request *request;	  /* the one that waits; NULL: none */
	const struct served_wish *wish;	  /* ERRAND_START */
	struct saved *saved;		  /* ERRAND_COPY */
	enum served_copying how;	  /* the same */
	struct forking *forking;	  /* ERRAND_FORK, and each ERRAND_START of it; else NULL */
	const struct served_order *order; /* ERRAND_JUDGE */
};
/* False when there are too many, or there is no process for it. */
bool errand_begin(struct e2b *e2b, const struct errand_wish *wish);
void errands_turn(struct e2b *e2b);
size_t errands_polls(const struct e2b *e2b, struct pollfd *polls);
size_t errands_count(const struct e2b *e2b);
/* REQUEST, or ROW, is over. */
void errands_forget(struct e2b *e2b, const struct http_request *request, const struct row *row);
void errands_done(struct e2b *e2b);

#endif
