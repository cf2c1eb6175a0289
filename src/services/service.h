/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that run on this machine: found, asked, copied. Knows no sandbox.
 *
 *   sockets.c    what listens, from the kernel (sock_diag)
 *   discover.c   the processes behind it, from /proc
 *   recipe.c     recipes.tsv: which service is which, and the words to run for it
 *   ask.c        one program run for a service: as its user, without a shell, bounded
 *   freeze.c     processes halted for a moment, and the watchdog that lets them go on
 *   state_copy.c a state directory copied, and brought up to date while its processes are halted
 *   instant.c    several of them as of one instant (instant.h)
 *   schema.c     a state without data, made anew
 *   clone.c      the copy of one service by the first way that works, and of several at once
 */
#ifndef SERVICES_SERVICE_H
#define SERVICES_SERVICE_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct service {
	char *name;	    /* "redis"; with the port behind it where there are several */
	const char *recipe; /* of recipes.tsv; NULL: none knows it */
	pid_t pid;	    /* the topmost process that holds the socket; 0: not to be seen */
	uint64_t began;	    /* of that process, in ticks since boot */
	uid_t uid;
	gid_t gid;
	uint16_t port;
	char host[46];	    /* the address it is asked at: a loopback one */
	bool is_everywhere; /* listens beyond the loopback */
	char *comm, *exe, *cwd;
	char *dir;		     /* its state; NULL: none known */
	char *place;		     /* where a copy of that is shown */
	struct strv args;	     /* its own words behind the program's name */
	struct strv variables;	     /* names alone */
	struct strv facts;	     /* name and value in turn: what it was asked for */
	uint64_t bytes;		     /* of the state, as far as counted */
	const char *level;	     /* native, frozen, cold, refused */
	uint64_t takes_ms, pause_ms; /* estimates */
	char *why;		     /* with refused: the reason */
};

struct services {
	struct service *items;
	size_t count;
};

/* What listens here, the caller's first. Changes nothing. */
int services_find(struct services *ret_services, struct error *err);
void services_done(struct services *services);

/* The one called NAME, or of that recipe where only one of those can be cloned. ERROR_NOT_FOUND, ERROR_USAGE. */
int services_pick(const struct services *services, const char *name, struct service **ret_service,
		  struct error *err);

/* Whether the directory of its state is its own, or it is the caller's. */
bool service_owns_dir(const struct service *service);

/* A listening socket, and the topmost process that holds it. */
struct listener {
	uint64_t inode;
	uid_t uid;
	uint16_t port;
	char host[46];
	bool is_everywhere;
	pid_t pid;
};

int listeners_read(struct listener **ret_listeners, size_t *ret_count, struct error *err);

/* One row of recipes.tsv: words with {placeholders}, separated by blanks. */
struct recipe_row {
	const char *recipe, *field, *words;
};

extern const struct recipe_row recipe_rows[];

/* The recipe for a program called COMM; NULL: none. */
const char *recipe_match(const char *comm);
/* The words of FIELD of the recipe, the AT-th row; NULL: none. */
const char *recipe_get(const char *recipe, const char *field, size_t at);
/* Adds the WORDS with their placeholders replaced by what is known of SERVICE. */
int recipe_expand(const struct service *service, const char *words, struct strv *ret_words,
		  struct error *err);
/* Asks by a ROW of a key and words: *ret_value is what the key means in the answer, empty where it is not there. */
int recipe_ask(const struct service *service, const char *row, char **ret_value, struct error *err);
/* Asks for the facts of the recipe. */
int recipe_facts(struct service *service, struct error *err);

struct service_answer {
	struct str text; /* output and errors, cut at 64 KiB */
	int code;	 /* as a shell would say it */
};

void service_answer_done(struct service_answer *answer);

/* Runs a program for SERVICE as its user, in directory DIR_FD (its descriptor 3; -1: the root), with no input, until UNTIL_NS at most. */
int service_ask(const struct service *service, const struct strv *words, int dir_fd,
		uint64_t until_ns, struct service_answer *ret_answer, struct error *err);

/* Performs ACT as the service's user: for root in a process of its own, which shares nothing but shared memory. */
int service_do(const struct service *service, int (*act)(void *cookie, struct error *err),
	       void *cookie, struct error *err);

struct service_clone {
	const char *level;
	uint64_t pause_us; /* how long its processes were halted */
	uint64_t bytes;
	struct strv start, ready; /* the words to run inside */
	struct strv run_dirs;	  /* made in /run for it: "MODE NAME" */
	uint64_t ready_ms;	  /* how long it may take */
	int stop_signal;
};

void service_clone_done(struct service_clone *clone);

#define SERVICE_PAUSE_MS 250

/* A service, and the empty directory for its copy, which belongs to the service's user. */
struct service_task {
	struct service *service;
	int dir_fd;
};

/*
 * A consistent copy of the service's state. What cannot be had within the pause is given up, and the service runs on.
 */
int service_copy(const struct service_task *task, struct service_clone *ret_clone,
		 struct error *err);

/* The level of a copy without data. */
#define SERVICE_SCHEMA "schema"

/* A copy of the service's users, databases and tables without what is in them; ERROR_DENIED where it has no such thing. */
int service_copy_schema(const struct service_task *task, struct service_clone *ret_clone,
			struct error *err);

/*
 * Copies of COUNT services as of one instant, or of none: those that can be are halted, and while they stand one that cannot
 * is asked to save itself. CLONES has room for all, zeroed; they are the caller's to release in any case.
 */
int service_copy_together(const struct service_task *tasks, size_t count,
			  struct service_clone *clones, struct error *err);

#endif
