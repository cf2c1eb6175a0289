/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages around a sandbox that stays: its clients, its supervisor outside, its init inside.
 *
 *   client                    supervisor                     init (pid 1 inside)         the new process
 *   ------                    ------                     -------------------         ---------------
 *   connect, EXEC ----------> EXEC, the client's own
 *   (0, 1, 2)                 connection with it ------> fork ---------------------> session, descriptors,
 *                 <---------- FIGURES        <---------- STARTED                     directory, limits
 *                 <-----------------------------------------------------------------  TERMINAL
 *                 <-----------------------------------------------------------------  RUNNING, exec (or FAILED)
 *                 <---------- DENIED, as they come
 *                                            <---------- ENDED; IDLE when no command is left
 *                 <------------------------------------- ENDED
 *
 * The process that has a message for the client sends it directly: each hop is a process to be woken. KILL ends what an exec
 * started, as does a client that goes away; SIGNAL, END: for its command; STOP ends everything, FREEZE and THAW halt it.
 * One message each on SOCK_SEQPACKET. Exec closes these sockets; init and a process before its exec cannot be traced.
 */
#ifndef LAUNCH_ATTACH_H
#define LAUNCH_ATTACH_H

#include "base/core/error.h"
#include "base/process/process.h"
#include "base/core/str.h"

enum attach_kind {
	ATTACH_EXEC = 1, /* to supervisor, to init: a command; words follow */
	ATTACH_KILL,	 /* to supervisor, to init */
	ATTACH_FREEZE, /* to supervisor, to init: answered by DONE when none runs any more, or by FAILED */
	ATTACH_THAW,	 /* to supervisor, to init: answered by DONE */
	ATTACH_STOP,	 /* to supervisor: end everything; the end of the stream is the answer */
	ATTACH_LOOK,	 /* to supervisor: answered by FIGURES; from supervisor: ask at the end */
	ATTACH_FIGURES,	 /* to client */
	ATTACH_STARTED,	 /* init to supervisor */
	ATTACH_TERMINAL, /* to client: the pty's master side */
	ATTACH_RUNNING,	 /* to client: exec comes next */
	ATTACH_DENIED,	 /* to client */
	ATTACH_ENDED,	 /* to client, to supervisor */
	ATTACH_IDLE,	 /* init to supervisor: no process is left inside */
	ATTACH_DONE,	 /* init to supervisor, to client */
	ATTACH_NETWORK,	 /* to supervisor: answered by RULE each, the last DENIED, then NETWORK */
	ATTACH_RULE, /* to supervisor: a rule of the network more or less; answered by DONE or FAILED */
	ATTACH_FAILED, /* to client; of FREEZE init to supervisor, to client */
	ATTACH_SIGNAL, /* to supervisor, to init: for the process group of the command */
	ATTACH_END,    /* the same, and what is left of its session when it ends is killed */
	ATTACH_STOP_IDLE, /* to supervisor: as STOP, but answered by DONE where a process runs inside */
};

/* What the sandbox has used since it was started, and how well it is walled. */
struct attach_figures {
	uint32_t missing;		    /* bit per layer that does not hold */
	bool has_group, is_idle, has_quota; /* idle: only init; quota: of the top */
	pid_t init_pid;			    /* on the host */
	uint64_t oom_kills, pids_refused, disk_stops, inode_stops; /* processes ended */
	/* exec: of the asker's own command, so far; tasks: inside, where no group counts; untold: denials that were not sent to it. */
	uint64_t cpu_us, memory_bytes, exec_cpu_us, tasks, unsent;
};

/* Words: the directory (one), command, environment, variables to set anyway, secrets (base/hash/secrets.h), user (exec_user.h). */
enum attach_group {
	ATTACH_DIRECTORY,
	ATTACH_COMMAND,
	ATTACH_ENVIRON,
	ATTACH_SET,
	ATTACH_SECRETS,
	ATTACH_USER,
	ATTACH_GROUPS,
};

struct attach_exec {
	uint32_t version; /* first, where one that knows of none sees a truth value that is none */
	bool tty[3];	  /* the sandbox's own pty instead of a descriptor */
	uint32_t cpu_seconds;		/* 0: as the sandbox was made */
	uint32_t counts[ATTACH_GROUPS]; /* words of each group */
	uint32_t body_len;		/* bytes of all words, each with its NUL */
	bool is_outside;	/* the words are in a file that came as the last descriptor */
	uint16_t rows, columns; /* of the pty */
};

struct attach_denied {
	uint64_t time_ms; /* since 1970; 0 where it is now */
	char layer[16], what[96], rule[96], hint[96];
};

struct attach_network {
	bool has_gateway;
	uint64_t connections, sent_bytes, received_bytes; /* since the start */
};

#define ATTACH_RULE_SIZE 512
struct attach_rule {
	bool is_deny, is_removal;
	char text[ATTACH_RULE_SIZE];
};

struct attach_message {
	enum attach_kind kind;
	uint32_t id;	/* the supervisor's number of the exec */
	uint64_t at_ns; /* RUNNING, ENDED, IDLE: when it happened */
	union {
		struct attach_exec exec;
		struct attach_figures figures;
		struct attach_denied denied;
		struct attach_network network;
		struct attach_rule rule;
		struct error error;
		struct {
			int wait_status;
			bool pids_hit;	 /* it ended among as many processes as were permitted */
			bool is_stopped; /* with the whole sandbox, on request */
			struct process_used used;
		} ended;
		int signal; /* SIGNAL, END */
		pid_t pid;  /* STARTED: inside */
	};
};

#define ATTACH_BODY_MAX 32768 /* more words go into a file of their own */
#define ATTACH_FDS_MAX 5

/* A message as it came; descriptors are close-on-exec and the receiver's. */
struct attach_packet {
	struct attach_message message;
	char body[ATTACH_BODY_MAX];
	int fds[ATTACH_FDS_MAX];
	size_t fd_count;
};

/* Sends a message without words. 0, or -1 with errno. No heap. */
int attach_send(int socket_fd, const struct attach_message *message, const int *fds, size_t count);

/* Sends EXEC: fills version and counts, and adds the words. */
int attach_send_exec(int socket_fd, struct attach_message *message,
		     const struct strv words[ATTACH_GROUPS], const int *fds, size_t count);

/* 1; 0 at the end of the stream; -1 with errno, EBADMSG for what no side of ours sends. No heap. */
int attach_receive(int socket_fd, struct attach_packet *ret_packet);

/* Sets why attach_receive, which returned GOT, gives nothing more. Returns -1. */
int attach_lost(int got, struct error *err);

/* Closes descriptors that were not taken. */
void attach_close(struct attach_packet *packet);

/* The words of an EXEC. The caller frees them. */
int attach_words(const struct attach_packet *packet, struct strv ret_words[ATTACH_GROUPS],
		 struct error *err);

#endif
