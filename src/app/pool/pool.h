/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as a call uses it, where there is one: a place among those that run, and a ready sandbox if there is one.
 *
 *   caller                                  daemon
 *   ------                                  ------
 *   connect, SLOT -----------------------> looks at the peer: its user, and how confined it is; may it run now?
 *   <-- REFUSED, BUSY or RUN; before that WAIT, again and again, while others are first
 *   makes its plan, meanwhile; behind a wait it is made anew
 *   ASK: the plan's digest --------------> looks once more; has one that was made of the same?
 *   <-- GIVEN, the sandbox (launch/ready.h)
 *   <-- COLD, or WANTS: then the plan ----> makes some of it, for the next call
 *   runs, and closes the connection -----> the place is free
 *
 * The first answer to each within POOL_PATIENCE_MS; a daemon that lets it go by is left alone for POOL_AWAY_MS by every call, by a
 * stamp beside the socket. A caller that waits is sent WAIT every POOL_WAIT_MS.
 */
#ifndef APP_POOL_H
#define APP_POOL_H

#include "base/core/error.h"
#include "base/hash/sha256.h"
#include "spec/spec.h"

#define POOL_SOCKET "daemon.sock"
#define POOL_STAMP "daemon.away"
#define POOL_PATIENCE_MS 50
#define POOL_AWAY_MS 10000
#define POOL_WAIT_MS 2000
#define POOL_WAIT_MAX_MS 10000
#define POOL_PLAN_MAX ((size_t)128 << 10)

#define POOL_VERSION 4
enum pool_kind {
	POOL_SLOT = 1,
	POOL_ASK,
	POOL_STATUS,
	POOL_QUEUE,
	POOL_RELOAD,
	POOL_STOP,
	POOL_WAIT,
	POOL_RUN,
	POOL_BUSY,
	POOL_GIVEN,
	POOL_COLD,
	POOL_WANTS,
	POOL_REFUSED
};

/* Of a call: it will ask for a ready sandbox, too; it waits however many do. */
#define POOL_WILL_ASK 1
#define POOL_INSISTS 2

struct pool_ask {
	uint32_t version, kind;
	uint32_t priority, flags; /* of POOL_SLOT: enum queue_priority; POOL_... */
	char digest[SHA256_HEX_SIZE];
	char around[SHA256_HEX_SIZE]; /* pool_around */
};

/* Those of POOL_STATUS and POOL_QUEUE are followed by what is shown, as JSON. */
struct pool_answer {
	uint32_t version, kind, pid, running, waiting;
};

/* A call's place among those that run: held as long as the connection. */
struct pool_slot {
	int fd; /* -1: there is no daemon to ask, or one that does not count this call */
	const char *runtime_dir;
	uint64_t asked_ns, queued_ms;
};
#define POOL_SLOT_NONE ((struct pool_slot){ .fd = -1 })

/*
 * Asks the daemon of RUNTIME_DIR, if there is one that can be reached, and does not wait for its answer; without one this is one look
 * for a file. By ENVIRON: AISBX_DAEMON=0 means that there is none, AISBX_PRIORITY is low, normal or high. -1 only where ENVIRON
 * is wrong.
 */
struct pool_wish {
	bool will_ask; /* for a ready sandbox, too */
	bool insists;  /* waits however many do: one of several of a call that was let in */
};
int pool_enter(const char *runtime_dir, const char *const *environ, struct pool_wish wish,
	       struct pool_slot *ret_slot, struct error *err);

/* Waits until it may run: 0 at once, 1 when others were first; then what was planned before is old. -1: it is refused. */
int pool_wait(struct pool_slot *slot, struct error *err);

/* Both: for calls that have nothing to do meanwhile. */
int pool_enter_now(const char *runtime_dir, const char *const *environ, bool insists,
		   struct pool_slot *ret_slot, struct error *err);

void pool_leave(struct pool_slot *slot);

/* The next message of the daemon by then, of LEN bytes; a daemon that lets it go by is left alone. Whether there is one. */
bool pool_receive(struct pool_slot *slot, uint64_t until_ns, void *message, size_t len);

/* A ready sandbox for a start of SPEC, which is given its name; NULL: there is none. */
struct launch_prestart *pool_take(struct pool_slot *slot, struct spec *spec);

/* Whether a sandbox of this plan can be made before it is asked for: no network, no secret, nothing of the caller's own. */
bool pool_suits(const struct spec *spec);

/*
 * The digest of a plan as it stands now: of the spec, and of what the host has at the places that it masks, because masks
 * are made of that.
 */
void pool_digest(const struct spec *spec, char ret_hex[static SHA256_HEX_SIZE]);

/* The digest of what a command inherits of the calling process and the daemon cannot see: no protection depends on it. */
void pool_around(char ret_hex[static SHA256_HEX_SIZE]);

#endif
