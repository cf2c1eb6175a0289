/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a native sandbox: what every driver that runs processes of this machine shares. */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include "base/core/error.h"
#include "base/process/process.h"
#include "base/hash/secrets.h"
#include "confine/cgroup.h"
#include "confine/root/root.h"
#include "launch/passed_fds.h"
#include "net/rule/policy.h"
#include "spec/spec.h"

#include <linux/filter.h>
#include <sys/types.h>

struct launch_prestart;

/* Descriptors for the payload's 0, 1, 2; -1 with tty set means the sandbox's own pty. Borrowed. */
struct launch_io {
	int fds[3];
	bool tty[3];
	uint16_t rows, columns; /* of the terminal */
	/* The user's own filter beside ours, and what the profile permits of ours, or NULL; borrowed. */
	const struct sock_fprog *extra_filter, *calls;
	/* What is beyond `calls` is permitted and seen; descriptor 3 is the command's, too: what a check writes its score to. */
	bool observes, has_score;
	const struct secrets *secrets; /* for a command's own start, or NULL; borrowed */
	int lock_fds[2]; /* held until no process inside is left; borrowed, -1 for none */
	/* When a sandbox that stays is over, since 1970: should we not see to that, the janitor ends us. 0: never. */
	uint64_t ends_ms;
	/* For a command that is a program of ours; else NULL. Borrowed; each process opens files in its own copy. */
	struct passed_fds *passed_fds;
	struct launch_prestart **prestart; /* begun for this start, which takes it; NULL: nothing */
	bool waits; /* the command comes later, from the process that it is handed to (ready.h) */
};

/* What the supervisor holds of a sandbox; all descriptors are owned. */
struct launch {
	pid_t init_pid;
	int init_fd;	       /* pidfd */
	int control_fd;	       /* to init */
	int payload_fd;	       /* to the payload until it execs; the caller may close it then */
	bool is_executing;     /* the payload has announced exec */
	uint64_t began_ns;     /* when it did */
	bool leaves_things;    /* that a janitor must remove */
	bool waits, was_ready; /* for its command; made by another process before (ready.h) */
	bool is_resident;      /* init stays: behind LAUNCH_RUNNING payload_fd is for attach.h */
	int lock_fds[2];       /* borrowed */
	uint64_t ends_ms;      /* as the caller gave it */
	int self_fd;	       /* pidfd of the process responsible for that; -1: none */
	pid_t janitor_pid;
	int janitor_fd; /* closing it (or dying) lets the janitor clean up; -1 before the command runs, or without one */
	int upper_fd;	       /* the writable layers, -1 until known */
	char *storage;	       /* path of the layers where they are on disk, else NULL */
	int storage_fd;	       /* the lock on that */
	int proc_fd;	       /* a proc of the sandbox; -1 where a cgroup counts, or until known */
	struct root_held held; /* until the janitor has them */
	struct root_overlays overlays; /* of one that stays; else none */
	int tree_fd;		       /* the root directory of one that stays; else -1 */
	struct strv unit_paths;
	struct cgroup group;
	bool has_group;
	pid_t gateway_pid, tls_gateway_pid; /* the second where TLS is ended outside */
	struct str bundle, java_store;	    /* certificates that programs inside trust then */
	struct cgroup gateway_group;	    /* its share of the CPU, where the run has a limit */
	int gateway_fd, network_fd; /* its reports (net/gateway/report.h), and its network; or -1 */
	int names_fds[2]; /* UDP and TCP, without a gateway: for questions for names; -1 for none */
	bool reports_names; /* what arrives there is reported as denied, by the refuser of names */
	bool is_publishing; /* ports of the host are open until the gateway is gone */
	struct net_policy policy;
	uint32_t missing;	   /* layers that do not hold */
	struct error limits_error; /* why there are no groups */
};

/* What launch_step found. */
enum launch_event {
	LAUNCH_NOTHING,
	LAUNCH_RUNNING,	 /* the command was executed; payload_fd has nothing more to say */
	LAUNCH_READY,	 /* all but the command is there; of one that waits for it */
	LAUNCH_SILENT,	 /* the payload is gone before that; init will say how it ended */
	LAUNCH_LISTENER, /* ret_fd: the filter's listener */
	LAUNCH_NAMES, /* names_fds are there, to be watched: launch_refuse_names when one is readable */
	LAUNCH_TERMINAL, /* ret_fd: pty master */
	LAUNCH_MOVED,	 /* the rename move_id was prepared, or cannot be */
	LAUNCH_ENDED,	 /* status and what it used are filled */
	LAUNCH_FAILED,	 /* ret_error */
	LAUNCH_KILLED,	 /* init is gone without a report, the command with it; ret_error */
};

struct launch_report {
	enum launch_event event;
	int fd;			    /* owned by the receiver */
	uint64_t move_id, ended_ns; /* when the command ended */
	int wait_status;
	struct process_used used;
	bool pids_hit; /* the command ended among as many processes as were permitted */
	struct error error;
};

void launch_init(struct launch *launch);

/*
 * Begins a start while its plan is made: its processes and namespaces, the network among them, which are half of its time.
 * Goes no further than that: nothing of it reads a file, and without a plan it ends with us. NULL where it cannot be done:
 * the start then does it all, and reports why.
 */
struct launch_prestart *launch_begin(const struct spec_ids *ids);
/* For one that no start has taken; NULL is none. Returns when all of it is gone. */
void launch_abandon(struct launch_prestart *prestart);

/* Clones, maps, limits and builds; returns while the start goes on in the children. */
int launch_start(const struct spec *spec, const struct launch_io *io, struct launch *ret_launch,
		 struct error *err);

/* Handles one message that is waiting on control_fd or payload_fd; does not block when one is readable. */
void launch_step(struct launch *launch, int ready_fd, struct launch_report *ret_report);

/* Fails where a layer of REQUIRED is missing: by the start, or of ALSO_MISSING, which the caller found. */
int launch_refuse_missing(const struct launch *launch, uint32_t also_missing, uint32_t required,
			  struct error *err);

/* A rename that a process inside waits for (a notification's id): paths, and O_PATH descriptors of what they start at. */
struct launch_move {
	uint64_t id;
	int fds[2];
	const char *paths[2];
};

/* Has it prepared inside, so that it works for directories too; LAUNCH_MOVED follows. One at a time. 0, or -1. */
int launch_move(struct launch *launch, const struct launch_move *move);

/* Ports that get listeners in the sandbox's network, served by its gateway. At most LAUNCH_PORTS_MAX at a time. */
#define LAUNCH_PORTS_MAX 256
int launch_open_ports(const struct launch *launch, const struct net_port *ports, size_t count,
		      struct error *err);

/*
 * A program in a sandbox without a network asks for a name: starts the process that refuses it and reports the name, on
 * gateway_fd (net/gateway/report.h). It has both names_fds, which are closed here; they must not be watched any more.
 */
int launch_refuse_names(struct launch *launch, const struct spec *spec, struct error *err);

/* To init: SIGKILL ends everything inside; SIGTERM, SIGINT and SIGHUP reach the command's process group. */
void launch_signal(struct launch *launch, int sig);

/* Lets go; what is still running is killed. With WAIT, returns only when all is gone. */
void launch_done(struct launch *launch, bool wait);

#endif
