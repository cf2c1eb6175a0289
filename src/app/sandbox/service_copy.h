/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of services in the store, and the sandboxes that have them.
 *
 *   services/ID/data   the state of one service as of one instant; never written to again
 *   services/ID/meta   of which service, how it was made, and the words that start it; written last
 *
 * A copy is shown in a sandbox at the place of the original, below an overlay of its own: what is written to it lies in the
 * sandbox's layers, is saved and rolled back with them, and is no change that a diff or a promotion sees. A sandbox names
 * its copies among its settings; a copy that no sandbox names any more, and that is not kept for later ones, is removed.
 */
#ifndef APP_SERVICE_COPY_H
#define APP_SERVICE_COPY_H

#include "base/core/id.h"
#include "base/core/value.h"
#include "plan/request.h"
#include "spec/spec.h"
#include "workspace/store/sandbox.h"

/* Among a sandbox's settings: the id of a copy. No flag of any verb. */
#define SERVICE_COPY_WORD "--service-copy"
/* The same: the user agreed that their data may leave by network rules. */
#define SERVICE_NETWORK_WORD "--services-with-network"

struct service_copy {
	char id[ID_RUN_SIZE];
	char *name, *level, *target;
	uint64_t port, uid, gid;
	uint64_t made_ms, kept_until_ms, took_ms, pause_us, ready_ms, stop_signal;
	struct strv start, ready, run_dirs;
};

void service_copy_done(struct service_copy *copy);
int service_copy_read(const struct store *store, const char *id, struct service_copy *ret_copy,
		      struct error *err);
/* For a list or a result: {name, level, port, uid, state, made, took_ms, pause_ms}. */
struct value *service_copy_describe(const struct service_copy *copy);

/* The ids of a sandbox's copies, in the order in which they are started. */
void service_copies_of(const struct sandbox *sandbox, struct strv *ret_ids);

/* Removes copies that no sandbox has, unless they are kept for later ones or being made. */
void service_copies_sweep(const struct store *store);

/* Whether the user agreed that data of the sandbox's services may leave by network rules. */
bool service_may_leave(const struct sandbox *sandbox);
/* Keeps that word with the sandbox, which is DIR_FD. */
int service_let_leave(int dir_fd, struct error *err);
/* ERROR_CONSENT where a plan with a network is for a sandbox with services, and that word was not given. */
int service_check_network(const struct sandbox *sandbox, const struct spec *spec,
			  struct error *err);

/* Shows a sandbox's copies at their places; refused as by service_check_network. */
int service_copies_lay(const struct sandbox *sandbox, struct spec *spec, struct error *err);

/* Copies that were made for a sandbox to come, locked until it has them. */
struct service_set {
	struct strv ids;
	int *lock_fds;
	size_t lock_count;
};

void service_set_done(struct service_set *set);

/*
 * Clones the services that REQUEST names, in the store at STORE_DIR. SPEC is the plan of the sandbox to come: with a network
 * the data might leave. ERROR_CONSENT when the user has not agreed.
 */
int service_set_make(const struct request *request, const struct spec *spec,
		     struct service_set *ret_set, struct error *err);

/* Lets the user's sandboxes have clones of the service NAME from now on. */
int app_service_trust(const char *name, struct error *err);

/* What listens on this machine: list of maps. Also keeps what the next starts hide. */
int app_services(struct value **ret_list, struct error *err);

/* The services of a sandbox, and whether they run. */
int app_services_of(const char *sandbox, struct value **ret_list, struct error *err);

/*
 * Starts the services of the sandbox NAME unless they were since its supervisor was, and waits until they answer. Does
 * nothing for a sandbox without any.
 */
int app_services_up(const char *name, struct error *err);
/* The same for a caller that has its directory and knows that it has services. */
int service_start_all(const char *name, int dir_fd, struct error *err);
/* Ends them in order; each gets some seconds. Best effort. */
void service_stop_all(int dir_fd);

struct sandbox_processes;
/* Marks those of services, by what is written of them in the sandbox's directory, and counts the others. */
void service_mark(int dir_fd, struct sandbox_processes *processes);

/* The run that is the service SERVICE of the sandbox: its id, for logs. Owned by the caller. */
int app_service_run(const char *sandbox, const char *service, char **ret_run_id, struct error *err);

/* In a sandbox's directory: which services were started since its supervisor was, and their processes on the host. */
#define SERVICES_UP "services-up"
#define SERVICES_UP_KIND "aisbx-services 1"

#endif
