/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor of a named sandbox: a detached process that holds it between the commands that enter it.
 *
 * It starts the sandbox with an init that stays, listens on a socket in the sandbox's directory and hands commands to init
 * (launch/exec/attach.h). Any number of clients at once. What it holds dies with it: init by the kernel's hand, the
 * rest by the janitor's, which also keeps the locks until no process inside is left.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/hash/secrets.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct supervisor_options {
	const struct spec *spec; /* a resident one */
	int dir_fd; /* the sandbox's directory, and its path: when that is another one, it is over */
	const char *directory;
	int listen_fd;		       /* its socket, bound there as SUPERVISOR_SOCKET */
	int lock_fds[2];	       /* held as long as a process inside may live */
	const struct secrets *secrets; /* that requests of the sandbox get outside; NULL: none */
	uint64_t expires_ms;	       /* since 1970; 0: never */
	uint64_t idle_ms;	       /* how long it stays without a command inside */
	/* The environment of a command inside, from the caller's. */
	void (*environment)(const struct strv *given, struct strv *ret_env, void *cookie);
	/* Where a command starts that was called in directory CWD. */
	const char *(*directory_of)(const char *cwd, void *cookie);
	void *cookie;
	/*
	 * At NOW_NS (clock_stamp_ns) its overlays knew no name of the host's files, and since ALONE_NS (CLOCK_MONOTONIC) no
	 * process had been inside. The start itself is the caller's to note.
	 */
	void (*note_fresh)(int dir_fd, uint64_t now_ns, uint64_t alone_ns);
	/* The last process inside had ended by LEFT_NS (CLOCK_MONOTONIC), and the sandbox has ended with it. */
	void (*note_left)(int dir_fd, uint64_t left_ns);
};

#define SUPERVISOR_SOCKET "socket"
/* The second lock: the supervisor's, with its pid inside. */
#define SUPERVISOR_LOCK "keeper"

/* Forks the supervisor, and returns its number. It keeps nothing of the caller's but what the options name. */
pid_t supervisor_start(const struct supervisor_options *options, struct error *err);

/* A listening socket in directory DIR_FD, in place of one without a listener. Close-on-exec. */
int supervisor_listen(int dir_fd, int *ret_fd, struct error *err);

/* Connects to the one in DIR_FD; ERROR_NOT_FOUND when there is no listener. */
int supervisor_connect(int dir_fd, int *ret_fd, struct error *err);

/* Which process a supervisor is: a number alone may be another's by then. */
struct supervisor_who {
	int pid; /* 0: not known yet */
	uint64_t ticks;
};

/*
 * The supervisor of the sandbox in DIR_FD, as it recorded itself; false when there never was one. Read before a connection is
 * made, or while it is open, that is the process at its other end, or a dead one: there is one supervisor at a time.
 */
bool supervisor_find(int dir_fd, struct supervisor_who *ret_who);

/*
 * Ends that supervisor by force, and with it all processes inside, but no later supervisor of the sandbox; with IF_HALTED only
 * when it is stopped and cannot answer. Whether it lived.
 */
bool supervisor_kill(const struct supervisor_who *who, bool if_halted);

/* Waits at most MS for its end; whether it has ended. */
bool supervisor_wait(const struct supervisor_who *who, int ms);

#endif
