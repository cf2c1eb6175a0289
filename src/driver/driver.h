/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers, as implementers see them: one const vtable each, no driver knows another.
 *
 * A driver must refuse a spec it cannot enforce in check(), before anything starts. The run layer drives a task
 * through poll_fd()/step() from one poll loop and never blocks inside a driver.
 */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include "base/core/error.h"
#include "base/hash/secrets.h"
#include "observe/result.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

struct passed_fds;
struct launch_prestart;

/* Descriptors for the payload's 0, 1, 2; borrowed. -1 with tty set: the sandbox's own pty. */
struct driver_io {
	int fds[3];
	bool tty[3];
	uint16_t rows, columns; /* of that pty */
	bool has_score;		/* descriptor 3 of this process is the payload's, too */
	/* For drivers that enter a sandbox which runs already; borrowed. */
	int enter_fd;
	const struct strv *enter_env; /* variables to set there in any case */
	struct passed_fds *
		passed_fds; /* for a driver that runs a program of ours by another driver; else NULL */
	const struct secrets *secrets; /* for the command to read, or NULL; borrowed */
	struct launch_prestart *
		*prestart; /* what begin() gave for this start, which takes it; NULL: nothing */
	int zygote_pool_fd; /* of the pool that has zygotes for runs like this one (driver/wasm); 0: none */
	int serve_fd;	     /* this is to be such a zygote, and is asked there; 0: it is a run */
	bool serves_started; /* one whose interpreter is started already */
	const char *serves_module; /* the code it was asked for; borrowed */
};

enum task_state { TASK_STARTING, TASK_RUNNING, TASK_ENDED };

/* Live figures and the final ones; what a driver cannot know stays 0. */
struct task_usage {
	uint64_t cpu_us;
	uint64_t memory_bytes, peak_memory_bytes;
	uint64_t pids;
	uint64_t disk_bytes, disk_limit_bytes;
	uint64_t oom_kills, pids_refused;
	bool disk_full, inodes_full;
	bool disk_stopped; /* full, and without a size of its own: the writing processes have to be stopped */
};

/* What ended a command that is not the run layer's doing. */
enum task_stop { TASK_NOT_STOPPED, TASK_OUT_OF_FUEL, TASK_OUT_OF_TIME, TASK_KILLED };

/* Embedded first in every driver's own task. */
struct task {
	const struct driver *driver;
	enum task_state state;
	struct error
		error; /* set when the start failed, or with TASK_KILLED; state is then TASK_ENDED */
	int wait_status; /* of the command, valid in TASK_ENDED without error */
	uint64_t began_ns,
		ended_ns; /* of the command, as seen by its init (CLOCK_MONOTONIC); or 0 */
	int pty_master;	  /* owned by the task; -1 unless the payload runs on a pty */
	int upper_fd; /* O_PATH of the directory holding the writable layers, or -1; the driver's */
	struct strv
		upper_paths; /* host path of the clone whose layer is u0, u1, ... in upper_fd; "" for none */
	uint32_t degraded;  /* bit per layer that does not hold in full */
	struct strv layers; /* names of the layers that hold */
	struct denials denials;
	struct network_use network;
	const char *isolation;
	const char *start; /* of a sandbox made for this command: pool, cold; else NULL */
	bool has_fuel;	   /* instructions were counted */
	uint64_t fuel_consumed;
	enum task_stop stopped_by;
	const char *note; /* one line for people, or NULL */
	bool is_shared;	  /* other commands were running in the sandbox when it entered */
	bool is_lent;	  /* it ran in a sandbox that others keep: this process has started none */
};

struct driver {
	const char *name;
	const char *summary;

	/* Whether this spec can be enforced here; must not change anything. 0, or -1 with the sentence. */
	int (*check)(const struct spec *spec, struct error *err);

	/*
	 * Begins what a start needs in any case, for a spec with these ids that is being made; NULL where that cannot be done,
	 * in a driver that cannot, too. What no start takes is abandoned.
	 */
	struct launch_prestart *(*begin)(const struct spec_ids *ids);
	void (*abandon)(struct launch_prestart *prestart);

	/* Starts the command; SPEC and IO are borrowed until free(). The task is in TASK_STARTING. */
	int (*start)(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
		     struct error *err);

	/* A descriptor that is readable whenever step() has something to do. */
	int (*poll_fd)(const struct task *task);

	/* Does what is ready, without blocking; moves `state`. */
	void (*step)(struct task *task);

	/* Ends every process of the sandbox at once; the task is TASK_ENDED now or after a step(). */
	void (*kill)(struct task *task);

	/* Fills what the driver can measure now. */
	void (*sample)(struct task *task, struct task_usage *ret_usage);

	/* Window size for a pty, or NULL. */
	void (*resize)(struct task *task, unsigned rows, unsigned columns);

	/* Sends a signal that the caller received on to the command and its process group; or NULL. */
	void (*signal)(struct task *task, int sig);

	/*
	 * Asks the command to end by SIG, which goes to it and its process group; what is left of it when it has ended goes,
	 * too. NULL where only kill() ends it.
	 */
	void (*end)(struct task *task, int sig);

	/* Lets others of this user reach it by a socket in DIR_FD, once it has lived for a moment; or NULL. */
	void (*listen)(struct task *task, int dir_fd);

	/* Releases everything; kills first when still running. Leaves no process, mount or group behind. */
	void (*free)(struct task *task);

	unsigned answer_ms; /* a start that is not under way by then is given up; 0: waited for */
	bool takes_secrets; /* hands the io's secrets to the command */

	/* How a command enters a sandbox of this driver that runs already; NULL where none can stay. */
	const struct driver *enter;
};

/* The drivers compiled in, ended by NULL. */
extern const struct driver *const drivers[];
const struct driver *driver_find(const char *name);

#endif
