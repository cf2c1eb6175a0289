/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process between a supervisor and a payload that has no pid namespace: it adopts whatever the payload leaves behind, and
 * ends all of it when the payload ends, when the supervisor asks for it, or when the supervisor is gone.
 */
#ifndef DRIVER_KEEPER_H
#define DRIVER_KEEPER_H

#include "base/process/process.h"
#include "driver/copied.h"

/* What it sends when the payload and all below it have ended. */
struct keeper_report {
	int wait_status;
	uint64_t ended_ns;
	struct process_used used;
};

/* In the child; FD is to the supervisor, which sends signals as int: SIGKILL for all, others for the payload's group. */
_Noreturn void copied_keeper_main(struct copied_task *task, int fd, int start_fd);

#endif
