/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What drivers have in common whose command works in a private copy of the workspace (spec's copy_dir), which the caller made
 * and from which it reads the changes: processes, streams, limits, the end.
 *
 *   supervisor ── keeper ── payload        the keeper is the reaper of all that the payload starts (keeper.h)
 *
 * In copy_dir, `ws` is the workspace, `home` the home, `tmp` the temporary files.
 */
#ifndef DRIVER_COPIED_H
#define DRIVER_COPIED_H

#include "base/process/process.h"
#include "confine/notify.h"
#include "driver/driver.h"

#include <sys/types.h>

struct copied_task;

/* What one driver does in its own way; what is NULL is not done. */
struct copied_wall {
	const struct driver *driver;
	bool keeps_paths; /* the copy stands at the workspace's own path, home and temporary files at theirs */
	/* In the supervisor, before anything starts. */
	int (*prepare)(struct copied_task *task, struct error *err);
	/* In the payload, with the caller's rights: the tree it sees. */
	int (*enter)(struct copied_task *task, struct error *err);
	/* In the payload, without any rights: the last lock. *RET_LISTENER_FD, unless it stays -1, goes to the supervisor. */
	int (*lock)(struct copied_task *task, int *ret_listener_fd, struct error *err);
	/* In the supervisor: what the filter's listener has. */
	void (*handle_events)(struct copied_task *task);
	void (*release)(struct copied_task *task);
};

struct copied_task {
	struct task task; /* first */
	const struct copied_wall *wall;
	const struct spec *spec;
	struct driver_io io;
	struct strv command, env;
	char *area; /* as the payload sees copy_dir */
	char *cwd;
	int area_fd;
	int own_fd; /* the wall's: a ruleset, a root; -1: none */
	int slave_fd;
	int epoll_fd, start_fd, keeper_fd, listener_fd;
	pid_t keeper_pid;
	struct process_used used;
	bool has_used;
	uint64_t peak_memory_bytes;
};

/* Functions of the vtable that all of them share. */
int copied_check(const struct driver *driver, const struct spec *spec, struct error *err);
int copied_start(const struct copied_wall *wall, const struct spec *spec,
		 const struct driver_io *io, struct task **ret_task, struct error *err);
int copied_poll_fd(const struct task *task);
void copied_step(struct task *task);
void copied_kill(struct task *task);
void copied_end(struct task *task, int sig);
void copied_sample(struct task *task, struct task_usage *ret_usage);
void copied_resize(struct task *task, unsigned rows, unsigned columns);
void copied_free(struct task *task);

/* In the payload: the calls that no process needs that shares its ids and its files' owners with the host's. */
int copied_filter(const struct copied_task *task, int *ret_listener_fd, struct error *err);

/* The filter's program, for a driver that has another program load it. ASKS: with calls that wait for an answer. */
#define COPIED_FILTER_MAX 192
struct sock_filter;
size_t copied_filter_program(bool asks, struct sock_filter *ret_code);

/* In the payload of a root caller: a mount namespace of its own, with copy_dir as /tmp, where its new ids can reach it. */
int copied_own_mounts(const struct copied_task *task, struct error *err);

/* The devices that every command has, ended by NULL. */
extern const char *const copied_devices[];
/* In a mount namespace of the payload's own: the node FROM at AT, read-only, so that its times and mode stay the host's. */
int copied_bind_device(const char *from, const char *at);

/* The payload itself; returns in no case. START_FD is for a failure, and for the listener. */
_Noreturn void copied_payload(struct copied_task *task, int start_fd);

#define COPIED_VTABLE(check_function, start_function)                                         \
	.check = (check_function), .start = (start_function), .poll_fd = copied_poll_fd,      \
	.step = copied_step, .kill = copied_kill, .end = copied_end, .sample = copied_sample, \
	.resize = copied_resize, .free = copied_free, .copies = true

#endif
