/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run uses right now, for `aisbx top`: one small file per run, rewritten with every sample.
 *
 * Made at the first sample, so that short runs never pay for it; held by a lock, so that one whose run was killed is
 * known as such; removed at the end, or by the next run that makes one, `top` or `gc`.
 */
#ifndef RUN_LIVE_H
#define RUN_LIVE_H

#include "driver/driver.h"
#include "spec/spec.h"

#include <stdint.h>

struct live {
	const struct spec *spec;
	uint64_t started_ms; /* since the epoch */
	int dir_fd; /* of STATE/live; -1 until the first sample, or when there can be none */
	int fd;
};

void live_init(struct live *live, const struct spec *spec, uint64_t started_ms);
/* A file that cannot be written is no reason to disturb the run. */
void live_update(struct live *live, const struct task_usage *usage);
void live_done(struct live *live);

/*
 * Whether the run whose file in DIR_FD is called RUN_ID was killed. Then the file goes, and the socket it could be reached by
 * (driver/linux/rules_socket.h).
 */
bool live_remove_left(int dir_fd, const char *run_id);
/* The same for all in STATE_DIR, and for sockets that have no file; adds the paths of files that went to REMOVED, unless it is NULL. */
void live_sweep(const char *state_dir, struct strv *removed);

#endif
