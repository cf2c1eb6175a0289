/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of ready sandboxes, as a run uses it: one question to the daemon, where there is one.
 *
 *   caller                                  daemon
 *   ------                                  ------
 *   connect -----------------------------> looks at the peer: its user, and how confined it is
 *   <-- REFUSED
 *   makes its plan
 *   ASK: the plan's digest --------------> looks once more; has one that was made of the same?
 *   <-- GIVEN, the sandbox (launch/ready.h)
 *   <-- COLD, or WANTS: then the plan ----> makes some of it, for the next call
 *
 * All of that within POOL_PATIENCE_MS; a daemon that lets it go by is left alone for POOL_AWAY_MS by every call, by a
 * stamp beside the socket.
 */
#ifndef ENGINE_POOL_H
#define ENGINE_POOL_H

#include "base/error.h"
#include "base/sha256.h"
#include "spec/spec.h"

#define POOL_SOCKET "daemon.sock"
#define POOL_STAMP "daemon.away"
#define POOL_PATIENCE_MS 50
#define POOL_AWAY_MS 10000
#define POOL_PLAN_MAX ((size_t)128 << 10)

#define POOL_VERSION 3
enum pool_kind {
	POOL_ASK = 1,
	POOL_STATUS,
	POOL_RELOAD,
	POOL_STOP,
	POOL_GIVEN,
	POOL_COLD,
	POOL_WANTS,
	POOL_REFUSED
};

struct pool_ask {
	uint32_t version, kind;
	char digest[SHA256_HEX_SIZE];
	char around[SHA256_HEX_SIZE]; /* pool_around */
};

/* That of POOL_STATUS is followed by what status shows, as JSON. */
struct pool_answer {
	uint32_t version, kind, pid;
};

/*
 * Connects to the daemon of RUNTIME_DIR, if there is one that answers; else -1. Without one this is one look for a file.
 * ENVIRON with AISBX_DAEMON=0 means that there is none.
 */
int pool_connect(const char *runtime_dir, const char *const *environ);

/* A ready sandbox for a start of SPEC, which is given its name; NULL: there is none. FD is closed. */
struct launch_prestart *pool_take(int fd, const char *runtime_dir, struct spec *spec);

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
