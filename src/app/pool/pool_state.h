/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon knows of its callers, its sandboxes and its helpers. Private to the daemon. */
#ifndef APP_POOL_STATE_H
#define APP_POOL_STATE_H

#include "app/pool/daemon_children.h"
#include "app/pool/pool_shelf.h"
#include "app/pool/queue.h"
#include "base/core/value.h"

#include <limits.h>

/* A caller's number is that of its place in the queue, too. */
#define CLIENTS_MAX QUEUE_PLACES

struct client {
	int fd; /* -1: a free place */
	pid_t pid;
	uint64_t since_ns;	      /* connected, or may run */
	bool will_ask;		      /* for a ready sandbox, once */
	char wanted[SHA256_HEX_SIZE]; /* the digest of the plan it was asked for; else empty */
};

struct server {
	struct shelf shelf;
	struct helpers *helpers;
	struct queue queue;
	unsigned max_running, cores; /* without pressure */
	struct client clients[CLIENTS_MAX];
	size_t client_end, client_max; /* one behind the last that is taken, and that may be */
	int dir_fd, listen_fd, signal_fd;
	bool is_full; /* of descriptors: no caller is accepted until another leaves */
	bool is_ending;
	char around[SHA256_HEX_SIZE];
	struct rlimit_all limits;
	struct pool_peer peer; /* the one that asks */
	char program[PATH_MAX];
	uint64_t given, cold, began_ns, given_ns, looked_ns, sent_ns;
	char text[POOL_PLAN_MAX + 1]; /* a message */
};

/* Starts the process that removes groups when this one is killed; *RET_FD takes paths where groups are made. */
int pool_janitor_start(int *ret_fd, struct error *err);

void server_look_at_pressure(struct server *server);

/* Callers, in pool_client.c. */
void client_accept(struct server *server);
/* Reads the next message of CLIENT, which is there, and does what it asks for; what is out of turn ends the conversation. */
void client_serve(struct server *server, struct client *client);
void client_answer(struct server *server, struct client *client, enum pool_kind kind);
void client_hang_up(struct server *server, struct client *client);
/* Whether caller I neither runs nor waits, and may be about to ask for either. */
bool client_is_silent(const struct server *server, size_t i);

/* What `daemon status` and `queue` show. */
struct value *pool_status(const struct server *server);
struct value *pool_show_queue(const struct server *server);

#endif
