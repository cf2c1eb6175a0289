/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drivers, as implementers see them: one const vtable each, no driver knows another.
 *
 * A driver must refuse a spec it cannot enforce in check(), before anything starts. The run layer drives a task
 * through poll_fd()/step() from one poll loop and never blocks inside a driver.
 */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include "driver/task.h" /* IWYU pragma: export */

/* How hard it is to get out; `drivers` shows the words. */
enum driver_strength { DRIVER_NONE, DRIVER_WEAK, DRIVER_FAIR, DRIVER_STRONG };

struct driver {
	const char *name;
	const char *summary;
	const char *isolation; /* as in the result */
	enum driver_strength strength;
	const char *
		lacks; /* what it cannot enforce, for people; NULL: nothing that the linux driver can */
	uint32_t degraded; /* bit per layer that never holds */

	/* Whether this machine and this caller have it; changes nothing. 0, or -1 with the reason. NULL: always. */
	int (*probe)(struct error *err);

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
	bool copies; /* the command works in a copy of the workspace that the caller makes (copied.h) */

	/* How a command enters a sandbox of this driver that runs already; NULL where none can stay. */
	const struct driver *enter;
};

/* The drivers compiled in, ended by NULL. */
extern const struct driver *const drivers[];
const struct driver *driver_find(const char *name);
/* ERROR_DENIED with the names that there are, unless NAME is one of them. */
int driver_check_name(const char *name, struct error *err);
const char *driver_strength_name(enum driver_strength strength);

#endif
