/* SPDX-License-Identifier: Apache-2.0 */
/* The clone that makes a sandbox's init. Private to launch. */
#ifndef LAUNCH_CLONE_INIT_H
#define LAUNCH_CLONE_INIT_H

#include "launch/setup/start.h"

/*
 * Makes init with its namespaces, and the sockets to it and to the payload; 0, or -1 and no process was made. Where the
 * kernel refuses a namespace that MAY_LACK (bit per layer) allows to be absent, START and LAUNCH name it.
 */
int clone_init(struct launch *launch, struct start *start, const struct spec_ids *ids,
	       uint32_t may_lack, struct error *err);

#endif
