/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes for the clients of a server of ours: each with an empty workspace and an agent inside, a program of ours that
 * the server speaks with. They are named sandboxes of an owner of their own, and go with their server.
 */
#ifndef APP_SERVED_H
#define APP_SERVED_H

#include "app/sandbox/sandbox.h"
#include "base/core/id.h"
#include "observe/result.h"

#define SERVED_MAX 600

/* What all sandboxes of a server are made of. */
struct served_plan {
	const struct request *request; /* flags and environment the server was given */
	const struct strv *profiles;   /* those that a sandbox may ask for */
	const char *agent;	       /* the program, absolute */
	const char *owner;
	const char *state_dir; /* of the record */
	const char *store_dir;
};

struct served_wish {
	const char *name;
	const char *profile; /* one of the plan's; NULL: the first */
	const char *image;   /* its root, by name; NULL: what the plan says */
	const char *from;    /* it is made as a copy of this one; NULL: anew */
	bool is_there;	     /* made already: only the agent is started */
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
	uint64_t time_ms; /* of each command, where that was asked for; 0: none */
	bool is_vetted;	  /* what runs there is scanned, or has to be signed */
};

/*
 * Makes one and starts the agent. Slow: for a process that has nothing else to do; it leaves its directory. One that cannot be
 * started is removed.
 */
int served_start(const struct served_plan *plan, const struct served_wish *wish,
		 struct served *ret_served, struct served_facts *ret_facts, struct error *err);

/* What a copy, which is no more than its files, may come from. */
enum served_copying {
	SERVED_FILES, /* any: what its processes have in memory is not wanted */
	SERVED_ALL,   /* one in which nothing runs, so that nothing is lost: else ERROR_CONFLICT */
};
/* NEW_NAME, in which nothing runs, becomes what FROM is now; FROM's processes halt meanwhile. Slow. */
int served_copy(const struct served_plan *plan, const char *from, const char *new_name,
		enum served_copying how, struct error *err);

/* The names of images that the caller's sandboxes may have as their root; none where that cannot be known. */
void served_images(const struct served_plan *plan, struct strv *ret_names);

/* Takes what the supervisor has to say; false when the sandbox is over. */
bool served_handle(int control_fd);

/* A command, or code, that a client wants to start in a sandbox. */
struct served_order {
	const char *sandbox;
	const struct strv *command;
	const struct strv *env; /* that it sets: K=V */
};

/* Whether a policy or the scanner judges each command. Two lookups. */
bool served_must_judge(const struct served_facts *facts);
/* Asks them. *ret_time_ms as of the facts, lowered where a policy says so. Slow. */
int served_judge(const struct served_plan *plan, const struct served_order *order,
		 uint64_t *ret_time_ms, struct error *err);

/* One that runs, on record. */
struct served_run {
	char run_id[ID_RUN_SIZE];
	uint64_t started_ms, started_ns;
	struct strv command;
};

/* How it ended, as the sandbox says. */
struct served_end {
	enum run_status status;
	int exit_code, signal;
	const struct str *tails; /* two: of stdout and stderr */
	uint64_t bytes[2];
	const char *message; /* NULL: none */
};

/* Where the record is, and where the store; the caller's to free. */
int served_dirs(char **ret_state, char **ret_store, struct error *err);
int served_run_begin(const struct served_plan *plan, const struct served_order *order,
		     struct served_run *ret_run, struct error *err);
/* Also frees what RUN holds. */
void served_run_end(const struct served_plan *plan, const char *sandbox, struct served_run *run,
		    const struct served_end *end);

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
