/* SPDX-License-Identifier: Apache-2.0 */
/* The network gateway's reports on a run of the linux driver. */
#ifndef DRIVER_LINUX_EGRESS_H
#define DRIVER_LINUX_EGRESS_H

#include "confine/notify.h"
#include "driver/driver.h"
#include "launch/launch.h"
#include "net/gateway/report.h"

#define EGRESS_CALLERS 32
#define EGRESS_NAMES_PORT 53

/* Which process tried to reach which address, as the filter's listener saw it; the newest replace the oldest. */
struct egress_caller {
	char process[17];
	char address[INET6_ADDRSTRLEN];
	uint16_t port;
};

struct egress {
	struct egress_caller callers[EGRESS_CALLERS];
	size_t next;
	bool is_finished;
	struct notify_event
		unreported; /* left to the refuser of names, which has reported nothing since */
	bool has_network;   /* else names are refused, and there is nothing to count */
};

/* Remembers the caller of a connect or sendto, to name it in a denial. */
void egress_note(struct egress *egress, const struct notify_event *event);

/* One denial of the gateway's, with the program it was about where that is known. */
void egress_send(struct egress *egress, struct net_denial *denial, struct denials *denials);

/* Takes the gateway's reports into TASK. 0, or -1 when the gateway is gone: then the sandbox must end. */
int egress_handle(struct egress *egress, int gateway_fd, struct task *task, struct error *err);

/* Without a network: a program asks for a name. EPOLL_FD watches LAUNCH's sockets for that, later what refuses it. */
void egress_refuse_names(struct launch *launch, const struct spec *spec, int epoll_fd);

/*
 * When the command has ended: waits a moment for the last words. Where there are none, the last call that was left to what
 * refuses names is a denial by itself. Does nothing twice.
 */
void egress_finish(struct egress *egress, int gateway_fd, struct task *task);

#endif
