/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes for the clients of a server of ours: each with an empty workspace and an agent inside, a program of ours that
 * the server speaks with. They are named sandboxes of an owner of their own, and go with their server.
 */
#ifndef APP_SERVED_H
#define APP_SERVED_H

#include "app/sandbox/sandbox.h"

#define SERVED_MAX 600

/* What all sandboxes of a server are made of. */
struct served_plan {
	const struct request *request; /* flags and environment the server was given */
	const struct strv *profiles;   /* those that a sandbox may ask for */
	const char *agent;	       /* the program, absolute */
	const char *owner;
};

struct served_wish {
	const char *name;
	const char *profile; /* one of the plan's; NULL: the first */
	struct strv env;     /* K=V for all commands in it */
	bool has_no_net;     /* whatever the server was given */
};

/* The descriptors of a sandbox whose agent runs. */
struct served {
	int control_fd; /* the agent, and all it started, ends when this is closed; it ends when they do */
	int to_fd, from_fd; /* the agent's standard input and output */
};

struct served_facts {
	unsigned cpu_milli; /* 0: all cores */
	uint64_t mem_bytes, disk_bytes;
};

/* Makes one and starts the agent. Slow: for a process that has nothing else to do. */
int served_start(const struct served_plan *plan, const struct served_wish *wish,
		 struct served *ret_served, struct served_facts *ret_facts, struct error *err);

/* Takes what the supervisor has to say; false when the sandbox is over. */
bool served_handle(int control_fd);

/* What it has used, and uses now. */
int served_figures(const char *name, uint64_t *ret_cpu_us, uint64_t *ret_memory_bytes,
		   struct error *err);

/*
 * Says that a server of OWNER lives, until *ret_fd is closed: served_sweep() leaves its sandboxes alone. What servers before it
 * left is swept first.
 */
int served_hold(const char *owner, int *ret_fd, struct error *err);

/* Removes every sandbox of OWNER, which is then held no more. */
void served_remove_all(const char *owner);

/* Removes the sandboxes of servers that were killed with their guards; their names go to REMOVED, unless NULL. */
void served_sweep(struct strv *removed);

#endif
