/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the three processes of a start, in named steps.
 *
 *   supervisor            init (pid 1 inside)               payload
 *   ----------            -------------------               -------
 *   clone3  ------------> fork ---------------------------> own network, a proc of its own
 *   (PLAN --------------> and ----------------------------> where those were begun ahead of it)
 *   id maps, MAPPED ----> take the ids, fresh /proc ...       the network ---> init
 *   cgroups, GROUPS --------------------------------------> take the ids, enter groups, seal itself
 *   overlays, PART* ----> (plain users: builds them,          PROC (without cgroups) ---> supervisor
 *                          ROOT, OVERLAYS ---> supervisor)    filter, LISTENER ---> supervisor
 *   READY   ------------> attach, pivot, check                wait
 *                         join the network
 *                         let the host's root go
 *                         release ------------------------> chdir, TERMINAL ---> supervisor, Landlock,
 *                         seal itself, reap                   EXEC ---> supervisor, exec
 *                                                             end of stream = the command runs
 *   MOVE (plain users) -> prepares a rename, one at a time: MOVED ---> supervisor
 *   <---- ENDED --------- the command's status; then exits, and the kernel ends what is left
 *
 * Every failure travels as a FAILED message with a struct error in it. Sockets are SOCK_SEQPACKET: one send is one
 * message. No side waits for a dead process: each sees the end of its socket.
 */
#ifndef LAUNCH_HANDSHAKE_H
#define LAUNCH_HANDSHAKE_H

#include "base/core/error.h"
#include "base/process/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum message_kind {
	MESSAGE_PLAN =
		1, /* to init and payload, where they were begun before it (prestart.h); to payload: its descriptors */
	MESSAGE_MAPPED, /* to init: id maps are written */
	MESSAGE_PART,	/* to init: a mount (descriptor) and its place (text) */
	MESSAGE_READY, /* to init: all parts sent, groups made; from one that waits: so is everything else */
	MESSAGE_GROUPS, /* to payload: descriptors to enter by */
	MESSAGE_PROC, /* from payload: a proc of the sandbox, where the supervisor must count itself */
	MESSAGE_NETWORK, /* from payload, where there is a gateway: its network, for rules to come */
	MESSAGE_NAMES, /* from payload, where there is no gateway: the sockets that get questions for names */
	MESSAGE_LISTENER, /* from payload: the filter's listener */
	MESSAGE_TERMINAL, /* from payload: the pty's master side */
	MESSAGE_ROOT, /* from init: the writable layers (descriptor, first time) and their paths (text, NUL between) */
	MESSAGE_OVERLAYS, /* from an init that stays: what its overlays are reconfigured by (root_overlays; text: a digit each), and its root directory (4) */
	MESSAGE_MOVE, /* to init: a rename to prepare: what both paths (text, each with its NUL) are relative to */
	MESSAGE_MOVED, /* from init: that is done, or cannot be */
	MESSAGE_ENDED, /* from init: the command's status */
	MESSAGE_EXEC, /* from payload: all is done, the end of this stream now means that the command runs */
	MESSAGE_FAILED, /* from init or payload: why it cannot start */
};

/* A path, or some of the layers' paths: those that do not fit go into a further message. */
#define MESSAGE_TEXT_MAX 4096
#define MESSAGE_FDS_MAX 4

struct message {
	enum message_kind kind;
	uint32_t missing; /* layers found not to hold, bit per layer (FAILED: unused) */
	uint64_t at_ns;	  /* EXEC, ENDED: when it happened (CLOCK_MONOTONIC), whenever it is read */
	union {
		struct error error;
		struct {
			int wait_status;
			bool pids_hit;
			struct process_used used;
		} ended;
		struct {
			uint32_t len;
			char bytes[MESSAGE_TEXT_MAX];
		} text;
		struct {
			uint64_t id; /* the notification that waits for it */
			uint32_t len;
			char bytes[MESSAGE_TEXT_MAX];
		} move;
	};
};

/* Two ends to speak by, close-on-exec. */
int handshake_pair(int ret_ends[static 2], struct error *err);

/* Returns when the other end is closed everywhere; messages until then are dropped. */
void handshake_await_end(int socket_fd);

/* Sends only as much of the message as its kind needs. No heap. 0, or -1 with errno. */
int handshake_send(int socket_fd, const struct message *message, const int *fds, size_t count);

/* Descriptors that came with a message, close-on-exec and the receiver's; -1 where there is none. */
struct message_fds {
	int items[MESSAGE_FDS_MAX];
	size_t count;
};

/*
 * Receives one message. 1; 0 at the end of the stream; -1 with errno, EBADMSG for one whose size or descriptors are not
 * those of its kind. No heap.
 */
int handshake_receive(int socket_fd, struct message *ret_message, struct message_fds *ret_fds);

/* Waits for a message of that kind; a FAILED or an end instead is an error. RET_FDS: NULL for a kind that has none. */
int handshake_expect(int socket_fd, enum message_kind kind, struct message *ret_message,
		     struct message_fds *ret_fds, struct error *err);

#endif
