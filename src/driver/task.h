/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers are given for a command and what the run layer sees of it while it runs. */
#ifndef DRIVER_TASK_H
#define DRIVER_TASK_H

#include "base/core/error.h"
#include "base/hash/secrets.h"
#include "observe/result.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

struct passed_fds;
struct launch_prestart;
struct seccomp_set;

/* Descriptors for the payload's 0, 1, 2; borrowed. -1 with tty set: the sandbox's own pty. */
struct driver_io {
	int fds[3];
	bool tty[3];
	uint16_t rows, columns; /* of that pty */
	bool has_score;		/* descriptor 3 of this process is the payload's, too */
	/* For drivers that enter a sandbox which runs already; borrowed. */
	int enter_fd;
	const struct strv *enter_env; /* variables to set there in any case */
	const char *enter_user;	      /* who it runs as; NULL: the sandbox's own user */
	struct passed_fds *
		passed_fds; /* for a driver that runs a program of ours by another driver; else NULL */
	const struct secrets *secrets; /* for the command to read, or NULL; borrowed */
	struct launch_prestart *
		*prestart; /* what begin() gave for this start, which takes it; NULL: nothing */
	int zygote_pool_fd; /* of the pool that has zygotes for runs like this one (driver/wasm); 0: none */
	struct seccomp_set *seen; /* what the command calls is noted here; NULL: not. Borrowed */
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

#endif
