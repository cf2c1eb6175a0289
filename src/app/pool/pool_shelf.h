/* SPDX-License-Identifier: Apache-2.0 */
/* Ready sandboxes by the plan they were made of: at most so many, each for one use. Private to the daemon. */
#ifndef APP_POOL_SHELF_H
#define APP_POOL_SHELF_H

#include "app/pool/pool.h"
#include "app/pool/pool_peer.h"
#include "base/core/id.h"
#include "launch/launch.h"

#define SHELF_PLANS 4
#define SHELF_MAX 64
#define SHELF_GIVEN_MAX 128

struct shelf_plan {
	struct spec spec; /* driver NULL: a free place */
	char digest[SHA256_HEX_SIZE];
	uint64_t used_ns;
	unsigned failed; /* in a row: after some of those none is made for a while */
	uint64_t failed_ns;
	bool is_unfit; /* none can be kept ready */
};

struct shelf_item {
	struct launch launch;
	struct shelf_plan *plan; /* NULL: a free place */
	char sandbox[ID_SHORT_SIZE];
	bool is_ready;
	uint64_t made_ns;
};

/* One that was given away: its group is its user's to remove, unless that is killed. */
struct shelf_given {
	int user_fd, init_fd; /* user_fd -1: that has ended; init_fd -1: a free place */
	struct cgroup group;
	uint64_t ended_ns; /* both have ended, and the group is to be removed; 0: not yet */
};

struct shelf {
	struct shelf_plan plans[SHELF_PLANS];
	struct shelf_item items[SHELF_MAX];
	struct shelf_given given[SHELF_GIVEN_MAX];
	unsigned size;	/* how many there may be */
	int null_fd;	/* a ready one's streams */
	int janitor_fd; /* takes paths where groups are made; removes them should we be killed */
	uint64_t made, failed;
};

/* Plan with that digest, marked as used; NULL: it is not known. */
struct shelf_plan *shelf_find(struct shelf *shelf, const char *digest);

/* Takes SPEC over, in the place of the plan that was not used for longest, unless it cannot be one. */
void shelf_add_plan(struct shelf *shelf, struct spec *spec, const char *digest);

/* A ready one of PLAN; NULL: there is none. */
struct shelf_item *shelf_take(struct shelf *shelf, const struct shelf_plan *plan);

/*
 * Gives ITEM away by SOCKET_FD to the process USER, whose descriptor it takes over. 0, or -1 with errno; gone in any case. With
 * has_group it needs a free place (shelf_has_place).
 */
int shelf_give(struct shelf *shelf, struct shelf_item *item, int socket_fd, struct pool_peer *user);
bool shelf_has_place(struct shelf *shelf);

/* The next descriptor that ends the wait for something given away to end; -1: none. */
int shelf_given_fd(const struct shelf_given *given);

/* Notes whether the sandbox and its user are gone, so that what they left behind can be removed. */
void shelf_tidy(struct shelf_given *given);

/* Removes groups that users left behind. Returns whether there is one that is not empty yet. */
bool shelf_remove_groups(struct shelf *shelf);

/* One of those under way has something to say on its control socket. */
void shelf_handle(struct shelf *shelf, struct shelf_item *item);

/* Makes at most one more, and lets go of what is too old. Returns whether there is more to be made. */
bool shelf_tend(struct shelf *shelf);

/* Ends all that is ready: what is made next is made by the host as it is now. */
void shelf_renew(struct shelf *shelf);

void shelf_init(struct shelf *shelf);
unsigned shelf_count(const struct shelf *shelf, bool only_ready);
void shelf_done(struct shelf *shelf);

#endif
