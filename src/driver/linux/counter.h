/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where others of the same user reach a run while it lives, to see and change the rules of its network (launch/exec/attach.h:
 * NETWORK and RULE). A socket called .SANDBOX.RUN_ID beside the file with the run's usage; made only once the run
 * has lived for a moment, and only where there is a gateway.
 */
#ifndef DRIVER_LINUX_COUNTER_H
#define DRIVER_LINUX_COUNTER_H

#include "driver/driver.h"
#include "driver/linux/egress.h"
#include "launch/start/rules.h"

#define COUNTER_CLIENTS 8

/* What it is about; borrowed. */
struct counter_run {
	struct task *task;
	const struct spec *spec;
	const struct launch *launch;
	struct egress *egress;
	bool has_secrets; /* that a denial could spell out: then denials are shown at the end only, where secrets are blotted out */
};

struct counter {
	struct counter_run run;
	int epoll_fd; /* borrowed */
	int dir_fd, listen_fd;
	char *name;
	int clients[COUNTER_CLIENTS]; /* the first COUNT */
	size_t count;
	struct launch_rules rules;
};

/* A counter in directory DIR_FD, watched by EPOLL_FD; NULL when there can be none. */
struct counter *counter_open(const struct counter_run *run, int dir_fd, int epoll_fd);

/* FD is ready. Does nothing when it is none of the counter's. */
void counter_step(struct counter *counter, int fd);

void counter_close(struct counter *counter);

#endif
