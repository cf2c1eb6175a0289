/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots, which more sandboxes can be made of, and forks. */
#ifndef FRONT_E2B_COPIES_H
#define FRONT_E2B_COPIES_H

#include "front/e2b/e2b.h"

#define E2B_FORKS_MAX 20
#define E2B_SNAPSHOTS_MAX 200

/* A snapshot: a sandbox of the store in which nothing runs. */
struct saved {
	struct saved *next; /* the newest first */
	char id[E2B_ID_SIZE], source[E2B_ID_SIZE];
	char *name; /* NULL: none */
	struct made made;
	uint64_t number;
	bool is_ready;
};

/* Sandboxes that are made at once, as copies of one. It goes with the last errand that has it. */
struct forking {
	struct http_request *request;	 /* NULL: its client has gone */
	struct row *rows[E2B_FORKS_MAX]; /* NULL: ended meanwhile */
	const char *from;
	size_t count;
	size_t left;	 /* errands that have it */
	struct str json; /* [{"sandbox": ...} ... as far as they are there */
};

/* False: the path is none of theirs. */
bool copies_handle(struct e2b *e2b, struct http_request *request, const char *path);
void copies_create(struct e2b *e2b, struct http_request *request, struct row *row);
void copies_fork(struct e2b *e2b, struct http_request *request, struct row *row);
struct saved *saved_find(const struct e2b *e2b, const char *name);
void saved_reply(struct http_request *request, const struct saved *saved);
void saved_drop(struct e2b *e2b, struct saved *saved);

#endif
