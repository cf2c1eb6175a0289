/* SPDX-License-Identifier: Apache-2.0 */
/* What push, pull and conflicts share. Private to app. */
#ifndef APP_TRAVEL_PARTS_H
#define APP_TRAVEL_PARTS_H

#include "app/stage/fill.h"
#include "app/travel/remote.h"
#include "app/travel/travel.h"
#include "decide/stage/bundle.h"

#define TRAVEL_BYTES_MAX (UINT64_C(10) << 30) /* of all contents of a bundle */
#define TRAVEL_LIST_MAX ((size_t)256 << 20)   /* of the list of changes */

/* One push, as its signed file says. */
struct head {
	uint64_t sequence, bytes;
	char bundle[SHA256_HEX_SIZE];
	uint64_t *after; /* those that it was made from */
	size_t after_count;
};

struct heads {
	struct head *items; /* by their number */
	size_t count;
};

/* All of NAME, each signed by a trusted key for this place. */
int heads_read(struct remote *remote, const char *name, struct heads *ret_heads, struct error *err);
void heads_done(struct heads *heads);
bool heads_supersede(const struct heads *heads, uint64_t sequence);
/* Writes and signs HEAD. */
int head_put(struct remote *remote, const char *name, const struct head *head, struct error *err);

/* Pushes of NAME that a sandbox has, and the last that it made itself; in sbx/NAME/travel. */
struct known {
	uint64_t *items;
	size_t count;
	uint64_t own; /* 0: none */
};

void known_read(int sandbox_fd, const struct remote *remote, const char *name,
		struct known *ret_known);
void known_done(struct known *known);
bool known_has(const struct known *known, uint64_t sequence);
void known_add(struct known *known, uint64_t sequence);
int known_write(int sandbox_fd, const struct remote *remote, const char *name,
		const struct known *known, struct error *err);

/* The newest push that HEAD was made from and the sandbox has; NULL: none. */
const struct head *heads_common(const struct heads *heads, const struct head *head,
				const struct known *known);
/* BUNDLE as what changed since EARLIER, which it was made from. Both are sorted. */
int bundle_rebase(struct bundle *bundle, const struct bundle *earlier, struct error *err);

/* The place of a content at the remote. */
char *travel_object(const char *sha256);

/* Conflicts of one pull: those that were decided, and those that wait. */
struct pull_conflicts {
	const struct store *store;
	const struct app_pull *pull;
	const char *sandbox, *remote_id;
	uint64_t sequence;
	struct value *list; /* records that wait */
	struct strv used;   /* ids of those that were decided */
};

/* As fill's settle; COOKIE is a struct pull_conflicts. */
int conflict_settle_pull(struct fill_conflict *conflict, void *cookie, struct error *err);
/* Those that were used are over. */
void conflicts_forget(const struct pull_conflicts *conflicts);

#endif
