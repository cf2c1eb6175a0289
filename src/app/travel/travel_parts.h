/* SPDX-License-Identifier: Apache-2.0 */
/* What push, pull and conflicts share. Private to app. */
#ifndef APP_TRAVEL_PARTS_H
#define APP_TRAVEL_PARTS_H

#include "app/stage/fill.h"
#include "app/travel/remote.h"
#include "app/travel/travel.h"
#include "decide/stage/bundle.h"

#define TRAVEL_BYTES_MAX (UINT64_C(10) << 30) /* of all contents that one pull fetches */
#define TRAVEL_LIST_MAX ((size_t)64 << 20)    /* of the list of changes */
#define TRAVEL_BASE_MAX ((size_t)1 << 20)     /* of a base that travels for merges */

/* One push, as its signed file says. */
struct head {
	uint64_t sequence;
	uint64_t largest;	      /* bytes of its largest content */
	char bundle[SHA256_HEX_SIZE]; /* the list of changes */
	char parent[SHA256_HEX_SIZE]; /* the id of the head before it; "" for the first */
	char id[SHA256_HEX_SIZE];     /* sha256 of the file */
};

/* The number of the newest push of NAME; 0: none. */
int head_last(struct remote *remote, const char *name, uint64_t *ret_sequence, struct error *err);
/* Reads one. TRUSTED: a trusted key has signed it for this place; else it is only as good as the id it is compared with. */
int head_read(struct remote *remote, const char *name, uint64_t sequence, bool trusted,
	      struct head *ret_head, struct error *err);
/* ERROR_CONFLICT unless HEAD comes, by one head after the other, from the one with that number and id. */
int head_descends(struct remote *remote, const char *name, const struct head *head,
		  uint64_t sequence, const char *id, struct error *err);
/* Fills that error. */
int head_refuse(const char *name, struct error *err);
/* Signs HEAD: its file's text and its id. */
int head_sign(const struct remote *remote, const char *name, struct head *head,
	      struct str *ret_text, struct error *err);
/* The place of a head at the remote. */
char *head_place(const char *name, uint64_t sequence);
/* The list of changes of HEAD, whose digest it has. */
int head_list(struct remote *remote, const struct head *head, struct bundle *ret_bundle,
	      struct error *err);

/*
 * What a sandbox has seen of a remote: a line each in sbx/NAME/travel, bound to a snapshot and its layer. It counts as long as
 * the sandbox stands on that snapshot: a rollback to an earlier one takes it back, a fork does not have it.
 */
struct known {
	uint64_t sequence;
	char id[SHA256_HEX_SIZE];
	char name[SANDBOX_NAME_MAX + 1];
	char snapshot[SNAPSHOT_NAME_MAX + 1];
	bool is_certain; /* false: a push under way, which may have been killed before it was accepted */
};

/* The newest that counts at SNAPSHOT and that the remote has; 1, 0: none, or -1. NAME NULL: of any name. */
int known_find(const struct sandbox *sandbox, const char *snapshot, struct remote *remote,
	       const char *name, struct known *ret_known, struct error *err);
int known_add(const struct sandbox *sandbox, const struct remote *remote, const struct known *known,
	      struct error *err);

/* The newest push that this store has seen of NAME: refuses a remote that shows an older state; then notes HEAD. */
int seen_check(const struct store *store, struct remote *remote, const char *name,
	       const struct head *head, struct error *err);
int seen_note(const struct store *store, const struct remote *remote, const char *name,
	      const struct head *head, struct error *err);

/* The place of a content at the remote. */
char *travel_object(const char *sha256);

/* Where no content travels from or to: mounts, copies of services, our own folders. */
struct travel_walls {
	struct strv paths; /* absolute */
};
int travel_walls_read(const struct sandbox *sandbox, struct travel_walls *ret_walls,
		      struct error *err);
/* The one that PATH lies in or around; NULL. */
const char *travel_walls_find(const struct travel_walls *walls, const char *path);
void travel_walls_done(struct travel_walls *walls);

/* What SNAPSHOT changed, each path with the base it was made from; new contents are in the store. Sorted. */
int travel_seal(const struct sandbox *sandbox, const struct view_stack *stack,
		struct bundle *ret_bundle, struct strv *ret_left_out, struct error *err);

/*
 * OWN, what the sandbox changed, on top of what it PUSHED or pulled at SNAPSHOT: paths of that stay, with their bases, and show
 * what the sandbox shows.
 */
int travel_compose(const struct sandbox *sandbox, const struct view_stack *stack,
		   const char *snapshot, const struct bundle *pushed, struct bundle *own,
		   struct error *err);

/* BUNDLE as what changed since EARLIER (NULL: since its own bases); what did not is taken out. Both are sorted. */
int travel_since(struct bundle *bundle, const struct bundle *earlier, struct error *err);

void travel_copy_side(struct bundle_side *to, const struct bundle_side *from);
void travel_sort(struct bundle *bundle);
const struct bundle_change *travel_find(const struct bundle *bundle, const char *path);

/* Conflicts of one pull: those that were decided, and those that wait. */
struct pull_conflicts {
	const struct store *store;
	const struct app_pull *pull;
	const char *sandbox, *name, *remote_id;
	uint64_t sequence;
	struct value *list; /* records that wait */
	struct strv used;   /* ids of those that were decided */
};

/* As fill's settle; COOKIE is a struct pull_conflicts. */
int conflict_settle_pull(struct fill_conflict *conflict, void *cookie, struct error *err);
/* Those that were used are over. */
void conflicts_forget(const struct pull_conflicts *conflicts);

#endif
