/* SPDX-License-Identifier: Apache-2.0 */
/* Between supervisor, init and payload: what the children of a start are given. Private to launch. */
#ifndef LAUNCH_START_H
#define LAUNCH_START_H

#include "confine/root/fresh.h"
#include "launch/launch.h"

/* Everything a child needs, in memory it inherits; descriptors are those of the parent at the clone. */
struct start {
	const struct spec *spec;
	const struct launch_io *io;
	int control_fd;					  /* init's end */
	int payload_fd;					  /* payload's end */
	int supervisor_control_fd, supervisor_payload_fd; /* the other ends, to be closed */
	char group_name[OWNER_NAME_SIZE];
	int landlock_abi;
	int inside_fd; /* to the gateway: for sockets of the sandbox's network; -1 without one */
	int supervisor_gateway_fd;	 /* the supervisor's end of the gateway, to be closed */
	const struct net_policy *policy; /* of the gateway */
	const struct str *bundle;	 /* of certificates; NULL where no TLS is ended outside */
	const struct str *java_store;	 /* of the same; with it only */
	uint32_t missing;		 /* namespaces the kernel refused, bit per layer */
	const char *storage;		 /* directory for the writable layers, or NULL: a tmpfs */
	bool is_prestarted; /* begun before its plan: what is not known at the clone is here once PLAN has come (prestart.h) */
};

/* Pid 1 of the sandbox. */
_Noreturn void init_main(const struct start *start);

/* From now on SIGTERM, SIGINT and SIGHUP from outside go to the process group of PAYLOAD. Before init has its filter. */
void reap_pass_signals(pid_t payload);

/*
 * Before init has its filter: from now on it ends when the other end of CONTROL_FD is closed, in whichever process that
 * is by then, and no longer with the process that made it. 0, or -1 with errno.
 */
int reap_follow_holder(int control_fd);

/* Init's life behind the start: reaps until the command ends, reports that, and exits. */
/*
 * The payload loses its proc, and its end of the socket, in exec; the last to close waits for all processors (populate.h): that is
 * init, when a short command's end is reported.
 */
struct reap_kept {
	int release_fd, proc_fd;
};

_Noreturn void reap_main(const struct start *start, pid_t payload, const struct reap_kept *kept);

/* The process that becomes the command. A byte from init on RELEASE_FD releases it; end of file means that init failed. */
_Noreturn void payload_main(const struct start *start, int release_fd);

/* Waits for the supervisor's end (end of stream on WATCH_FD), then removes what must not stay. */
_Noreturn void janitor_main(const struct launch *launch, int watch_fd);

#endif
