/* SPDX-License-Identifier: Apache-2.0 */
/* All that the agent has under way. */
#ifndef ENVD_AGENT_H
#define ENVD_AGENT_H

#include "envd/link.h"
#include "envd/loop.h"

struct agent {
	struct link link;
	struct source in, out; /* of the link */
	int loop_fd;
	bool is_over; /* the server has gone, or is not itself any more */
	struct call *calls;
	struct process *processes; /* the newest first */
	struct watcher *watchers;
	unsigned watcher_count, last_watcher;
	struct interpreter *interpreter; /* NULL: not started */
};

struct note;
/* Tells the server how what came by CHANNEL has ended. */
void agent_note(struct agent *agent, uint32_t channel, const struct note *note);

#endif
