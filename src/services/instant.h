/* SPDX-License-Identifier: Apache-2.0 */
/* What copying services that stand is made of: processes halted, state directories copied by processes of their users. */
#ifndef SERVICES_INSTANT_H
#define SERVICES_INSTANT_H

#include "services/service.h"

/*
 * Copies the state directories of COUNT services while all of their processes are halted, and does ACT meanwhile, unless NULL,
 * which must end by the time it is given. *ret_pause_us is how long they stood. Each is copied by a process of its user.
 */
int states_copy_frozen(const struct service_task *tasks, size_t count,
		       int (*act)(void *cookie, uint64_t until_ns, struct error *err), void *cookie,
		       uint64_t *ret_pause_us, struct error *err);

/* ERROR_BUSY: the pause would not do. */
int service_give_up(const struct service *service, struct error *err);

struct freeze;
/* The work of such a process: two passes while the service runs, and one more when FD says so. Never returns. */
_Noreturn void state_copy_run(const struct service_task *task, const struct freeze *freeze, int fd);

/*
 * Processes that are halted. A watchdog lets them go on when this process ends, whatever ends it, and when the limit has
 * passed.
 */
struct freeze {
	struct freeze_list *list; /* shared with the watchdog, and later children */
	int watchdog_fd;
	pid_t watchdog;
	uint64_t began_ns;
};

int freeze_open(struct freeze *ret_freeze, struct error *err);
void freeze_close(struct freeze *freeze);
/* Halts the COUNT processes and all that descend from them; all of them stand when this returns. */
int freeze_begin(struct freeze *freeze, const pid_t *pids, size_t count, uint64_t limit_ms,
		 struct error *err);
/* Lets them go on; how long they stood, in microseconds. */
uint64_t freeze_end(struct freeze *freeze);
/* Files that they have mapped to be written, sorted: their times do not tell of changes. Those of the caller's user. */
void freeze_mapped(const struct freeze *freeze, struct strv *ret_paths);

/* The state of an empty service with the schema of the task's, for a recipe with field `schema`. */
int schema_copy(const struct service_task *task, struct error *err);

/* Starts a program as service_ask() does, and leaves it running: its pid. It ends with the caller, and has *RET_FD to write to. */
pid_t service_serve(const struct service *service, const struct strv *words, int dir_fd,
		    int *ret_fd, struct error *err);

/* Gives up root for the service's user, and everything of the caller's environment with it. */
int service_become(const struct service *service);

#endif
