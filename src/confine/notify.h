/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's end of a filter with a listener: answers what the payload waits for.
 *
 * Refused calls are answered EPERM, renames by the caller. Connections and addressed datagrams are answered "continue":
 * the empty network namespace refuses them, here they are only seen. What is read from the payload's memory may change
 * behind our back, so it is shown to people and decides nothing.
 */
#ifndef CONFINE_NOTIFY_H
#define CONFINE_NOTIFY_H

#include "confine/notify_peer.h"

#include <stdint.h>
#include <sys/types.h>

struct seccomp_set;

enum notify_kind {
	NOTIFY_SILENT,	/* answered, nothing to report */
	NOTIFY_SYSCALL, /* a refused system call; layer "seccomp" */
	NOTIFY_NET,	/* a destination outside the sandbox; layer "net"; not answered yet */
	NOTIFY_MOVE,	/* a rename; not answered yet */
};

struct notify_event {
	enum notify_kind kind;
	uint64_t id; /* for the answer */
	pid_t pid;   /* the thread, as the supervisor sees it */
	int nr;
	const char *name; /* of the system call */
	uint64_t args[6];
	struct peer peer; /* the destination, with NOTIFY_NET */
	char what[96];	  /* "connect 1.2.3.4:443", "mount(2)" */
	const char *rule; /* why */
	char hint[96];	  /* what would permit it, or empty */
};

/* What a listener is for beside the filter built in. */
struct notify_rules {
	const struct seccomp_set *permitted; /* the profile's; NULL: all that the filter permits */
	/* Calls that the filter permits come here only to be noted, and go on; NULL: none do. */
	struct seccomp_set *seen;
};

/*
 * Answers one pending call of a listener that poll(2) reported, or leaves it to the caller (see the kinds). Never
 * blocks. 0 when one was taken (also when its caller died meanwhile: NOTIFY_SILENT); -1 with errno: EAGAIN nothing is
 * pending, ENOTCONN no process is left behind the filter, others are fatal. No heap.
 */
int notify_handle(int listener_fd, const struct notify_rules *rules,
		  struct notify_event *ret_event);

/* Answers a call that notify_handle left open: 0 lets the kernel go on with it, else that errno. */
int notify_answer(int listener_fd, uint64_t id, int errnum);

/* Whether the call still waits: what was read about its caller by number is then the caller's. */
bool notify_is_waiting(int listener_fd, uint64_t id);

/* Reads a NUL-terminated text from a caller's memory. Its length, or -1 when it is unreadable or longer. No heap. */
ssize_t notify_read_text(pid_t pid, uint64_t address, char *buffer, size_t size);
ssize_t notify_read_bytes(pid_t pid, uint64_t address, void *buffer, size_t len);

/*
 * For a supervisor that does what was asked for itself: takes one pending call as notify_handle() does, and answers none; an
 * id of 0 means that its caller died meanwhile. The call then ends by notify_finish(): done, or that errno.
 */
int notify_receive(int listener_fd, struct notify_event *ret_event);
int notify_finish(int listener_fd, uint64_t id, int errnum);

#endif
