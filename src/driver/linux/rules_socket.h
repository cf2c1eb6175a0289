/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where others of the same user reach a run while it lives, to see and change the rules of its network (launch/exec/attach.h:
 * NETWORK and RULE). A socket called .SANDBOX.RUN_ID beside the file with the run's usage; made only once the run
 * has lived for a moment, and only where there is a gateway.
 */
#ifndef DRIVER_LINUX_RULES_SOCKET_H
#define DRIVER_LINUX_RULES_SOCKET_H

#include "driver/driver.h"
#include "driver/linux/egress.h"
#include "launch/start/rules.h"

#define RULES_SOCKET_CLIENTS 8

/* What it is about; borrowed. */
struct rules_socket_run {
	struct task *task;
	const struct spec *spec;
	const struct launch *launch;
	struct egress *egress;
	bool has_secrets; /* that a denial could spell out: then denials are shown at the end only, where secrets are blotted out */
};

struct rules_socket {
	struct rules_socket_run run;
	int epoll_fd; /* borrowed */
	int dir_fd, listen_fd;
	char *name;
	int clients[RULES_SOCKET_CLIENTS]; /* the first COUNT */
	size_t count;
	struct launch_rules rules;
};

/* A rules socket in directory DIR_FD, watched by EPOLL_FD; NULL when there can be none. */
struct rules_socket *rules_socket_open(const struct rules_socket_run *run, int dir_fd,
				       int epoll_fd);

/* FD is ready. Does nothing when it is none of the rules socket's. */
void rules_socket_step(struct rules_socket *rules_socket, int fd);

void rules_socket_close(struct rules_socket *rules_socket);

#endif
