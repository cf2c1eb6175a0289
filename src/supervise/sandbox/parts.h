/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the supervisor share. */
#ifndef SUPERVISOR_PARTS_H
#define SUPERVISOR_PARTS_H

#include "confine/notify.h"
#include "supervise/sandbox/held_names.h"
#include "supervise/sandbox/supervisor.h"
#include "launch/exec/attach.h"
#include "launch/launch.h"
#include "launch/setup/filters.h"
#include "launch/rename/dir_rename_queue.h"
#include "launch/start/rules.h"
#include "confine/quota.h"
#include "observe/disk_watch.h"

#include <netinet/in.h>
#include <stdbool.h>

#define CLIENTS_MAX 1024
#define DENIED_KEPT 32

struct client {
	int fd;
	uint32_t id;	/* of its exec or request; every client has another */
	pid_t pid;	/* inside, of the process init started for it; 0: none yet */
	bool is_active; /* an exec is under way */
	bool has_frozen, is_asked_to_look;
	uint64_t unsent; /* denials that were not sent to it */
	struct attach_denied
		unreported; /* left to the refuser of names, without a report since; "": nothing */
	char unreported_address[INET6_ADDRSTRLEN];
};

/* A directory of the host by what it is, not by its name. */
struct place {
	dev_t dev;
	ino_t ino;
};

struct supervisor {
	const struct supervisor_options *options;
	struct launch launch;
	struct launch_io io;
	struct launch_filters filters;
	int epoll_fd, listener_fd;
	struct dir_rename_queue renames;
	struct client clients[CLIENTS_MAX];
	size_t client_count;
	uint32_t next_id;
	bool is_serving, is_idle, is_over;
	bool has_lost_init;		  /* which ended by itself */
	uint64_t disk_stops, inode_stops; /* how often writers were ended for filling the top */
	int top_fd;			  /* of the writable top */
	struct disk_watch disk;
	struct quota quota; /* where the filesystem has them; then no process is killed for it */
	bool was_full, inodes_hit;
	uint64_t idle_since_ns;
	uint64_t left_ns; /* when the last process inside had ended */
	bool was_entered; /* a command was started */
	bool is_tidy;	  /* the names were dropped since the last command */
	bool is_prepared; /* and once more for the next command, at PREPARED_NS */
	uint64_t prepared_ns;
	struct held_names held;
	uint64_t
		fresh_ns; /* when the names were dropped for the command being started; 0: they were not */
	struct place workspace, *bind_places;	  /* when the sandbox was started */
	uint64_t oom_kills, pids_refused;	  /* as last read */
	struct launch_rules rules;		  /* of the gateway */
	struct attach_denied denied[DENIED_KEPT]; /* by the network; a ring */
	size_t denied_count;			  /* ever */
	struct attach_packet packet;
};

/* Accepts the connections that wait on the socket. */
void clients_accept(struct supervisor *supervisor);

struct client *client_of_fd(struct supervisor *supervisor, int fd);
struct client *client_of_id(struct supervisor *supervisor, uint32_t id);

/* Reads and does what one client asks for, or notices that it is gone. */
void client_step(struct supervisor *supervisor, struct client *client);
/* Before the sandbox is started. */
void fresh_begin(struct supervisor *supervisor);
/* After its end, when no process is left inside. */
void fresh_end(struct supervisor *supervisor);
/* Drops the names, unless a process is inside or a caller is looking at what its command has changed. */
void fresh_tidy(struct supervisor *supervisor);
/* When a caller connects: does what its command would wait for, while the caller prepares that. */
void fresh_prepare_next(struct supervisor *supervisor);
/* Before a command: false when the sandbox cannot be shown the host's files as they are, and has to be started anew. */
bool fresh_look(struct supervisor *supervisor);
/* Then: has CLIENT try again, and ends the sandbox. */
void fresh_refuse(struct supervisor *supervisor, const struct client *client);
/* When it is on its way: notes the moment. */
void fresh_note(struct supervisor *supervisor);

/* Init's message. */
void clients_handle_init(struct supervisor *supervisor);
/* Sends why the sandbox could not be started to all waiting clients. */
void clients_fail(struct supervisor *supervisor, const struct error *err);
/* The sandbox is at its end: sends all clients with a running command its end and usage. */
void clients_end(struct supervisor *supervisor);

/* What was refused to its command. A client that does not read gets only the number it missed, and that later. */
void client_deny(struct client *client, const struct attach_denied *denied);
/* Once per command, and only if the client reads: ask at its end, which a quick command's client does not do otherwise. */
void client_ask_to_look(struct client *client);

/* Sends what was refused inside to the client it belongs to. */
void denials_report(struct supervisor *supervisor, const struct notify_event *event);
/* The refuser of names will report it; else network_flush does. */
void denials_leave(struct supervisor *supervisor, const struct notify_event *event);

/* What the sandbox has used, and CLIENT's command of it; AFRESH reads the groups again. */
void supervisor_figures(struct supervisor *supervisor, const struct client *client, bool afresh,
			struct attach_figures *ret_figures);

/*
 * Bounds that no other mechanism enforces, while commands run inside; ends all processes beyond one. AT_LAST: a command
 * has ended, and gets what it met.
 */
void bounds_init(struct supervisor *supervisor);
void bounds_done(struct supervisor *supervisor);
void bounds_look(struct supervisor *supervisor, bool at_last);

/* The gateway's report: denials go to the newest command. When the gateway is gone, so is the sandbox. */
void network_handle(struct supervisor *supervisor);
/* Whether what a program tried to reach is reported as denied: a gateway reports that itself, and lookups are reported by name. */
bool network_is_denied(const struct supervisor *supervisor, const struct notify_event *event);
/* Without a network: a program asks for a name. */
void network_refuse_names(struct supervisor *supervisor);
/* Has everything the gateway saw so far reported to that client. Does nothing without a gateway. */
void network_flush(struct supervisor *supervisor, struct client *client);

/* Answers ATTACH_NETWORK: the last denials, then the counts. */
void network_report(struct supervisor *supervisor, const struct client *client);
/* Answers ATTACH_RULE: changes the rules of the running gateway, for connections from now on. */
void network_change(struct supervisor *supervisor, struct client *client,
		    const struct attach_rule *rule);

/* Why its request came to nothing. */
void client_fail(const struct client *client, const struct error *err);

/* The client whose command was started last, or NULL. */
struct client *client_newest(struct supervisor *supervisor);

#endif
