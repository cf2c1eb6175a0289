/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: keeps ready sandboxes for the runs of one user. */
#ifndef APP_DAEMON_H
#define APP_DAEMON_H

#include "app/pool/daemon_children.h"
#include "app/pool/queue.h"
#include "base/core/error.h"
#include "base/core/value.h"
#include "spec/spec.h"

#include <stdbool.h>

/* How many it keeps unless asked otherwise, and at most. */
#define DAEMON_POOL_PER_CORE 2
#define DAEMON_POOL_MAX 64
/* How many calls wait at most, unless asked otherwise; and the bound of both. */
#define DAEMON_WAITING 256
#define DAEMON_QUEUE_MAX (QUEUE_PLACES / 2)
#define DAEMON_RATE_MAX 60000

struct daemon_request {
	unsigned pool;		    /* how many sandboxes to keep ready; 0: so many per core */
	struct queue_limits limits; /* running 0: by cores and memory */
	unsigned cores;		    /* found out */
	bool is_detached, has_page; /* has_page: it removes the door's name when it ends */
	struct helpers helpers;	    /* descriptors are closed in any case */
	struct spec
		plan; /* that of a run from here, to be ready for the first one; driver NULL: none is known */
};

/* Serves until it is asked to end. Detached it returns when the daemon, in a process of its own, can be reached. */
int app_daemon_serve(struct daemon_request *request, struct error *err);

/* {running, pid, pool, ready, plans, given, cold, made, failed, max_running, busy, waiting, refused, uptime_ms, helpers}; without one only that it is not running. */
int app_daemon_status(struct value **ret_answer, struct error *err);

/* List of {state, pid, caller, priority, since_ms}: the calls that run, then those that wait; empty without a daemon. */
int app_daemon_queue(struct value **ret_answer, struct error *err);

/* What is ready is made anew; *ret_was_there is false where there is no daemon. */
int app_daemon_reload(bool *ret_was_there, struct error *err);

/* Returns when it has ended and nothing of its pool is left; *ret_was_there is false where there was none. */
int app_daemon_stop(bool *ret_was_there, struct error *err);

#endif
