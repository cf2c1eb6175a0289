/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a gateway that runs: changed for connections from now on, with listeners for the ports they name. */
#ifndef LAUNCH_RULES_H
#define LAUNCH_RULES_H

#include "launch/exec/attach.h"
#include "launch/launch.h"
#include "net/gateway/report.h"
#include "net/rule/rule_set.h"

#include <stdbool.h>
#include <stdint.h>

/* As the gateway has them; empty until the first change. */
struct launch_rules {
	struct rule_set set;
	bool is_begun;		      /* the set is valid */
	uint8_t opened[2][65536 / 8]; /* ports with a listener, TCP and UDP; valid with the set */
	size_t opened_count;
};

void launch_rules_done(struct launch_rules *rules);

/*
 * Makes the change that CLIENT's message asks for, in the gateway of LAUNCH, which was started by SPEC. On failure
 * nothing has changed. The gateway's answer to being asked for its counts comes behind the change.
 */
int launch_rules_change(struct launch_rules *rules, const struct launch *launch,
			const struct spec *spec, const struct attach_rule *wish, struct error *err);

/* Sends the rules in force, a message each. 0, or -1 with errno when there is no receiver. */
int launch_rules_send(const struct launch_rules *rules, const struct spec *spec, int socket_fd,
		      uint32_t id);

/* Takes the gateway's reports, up to its answer to a flush. Denials go to TAKE. Whether it answered in time. */
bool launch_rules_await(const struct launch *launch, int patience_ms,
			void (*take)(struct net_denial *denial, void *cookie), void *cookie,
			struct net_counts *ret_counts);

#endif
