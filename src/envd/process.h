/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that clients have started here, and the streams that listen to them. */
#ifndef ENVD_PROCESS_H
#define ENVD_PROCESS_H

#include "envd/call.h"
#include "envd/note.h"

#include <sys/types.h>

struct process {
	struct process *next;
	struct agent *agent;
	pid_t pid;
	char *tag;	      /* NULL: none */
	struct value *config; /* as it was started */
	struct source end;    /* its pidfd; -1 once it has ended */
	struct source out[2]; /* stdout and stderr; with a terminal only the first */
	struct source in;     /* -1: closed */
	struct str input;     /* what it has not taken yet */
	size_t input_at;
	bool has_terminal, closes_in, is_over;
	int status;	      /* of wait */
	uint32_t channel;     /* by which it came */
	uint64_t deadline_ns; /* 0: none */
	struct note note;
	struct call **listeners;
	size_t listener_count;
	const struct call *starter;
};

struct process_wish {
	struct strv argv, env;
	char *directory;
	bool has_terminal, has_input;
	bool is_kept; /* what it leaves behind ends with it, and it ends by SIGTERM to the pid */
	unsigned rows, columns;
};

/* Starts a program alone: its pid, and our ends of its streams (-1: none, as without input). -1 as of process_spawn(). */
pid_t process_launch(const struct process_wish *wish, int ret_fds[static 3], const char **ret_what);

/* Starts one. NULL with errno, and *ret_what says what failed. */
struct process *process_spawn(struct agent *agent, const struct process_wish *wish,
			      const char **ret_what);

/* By pid or tag; NULL: there is none, or none that runs while IS_ALIVE. */
struct process *process_find(const struct agent *agent, const struct value *selector,
			     bool is_alive);

/* Ends those whose time is over. Milliseconds until the next one's; -1: none. */
int processes_turn(struct agent *agent);

/* CALL gets the start event, and from now on the others. */
void process_listen(struct process *process, struct call *call);
/* More for its standard input, and the end of that. False: it has too much already. */
bool process_feed(struct process *process, const char *bytes, size_t len);
void process_close_input(struct process *process);

#endif
