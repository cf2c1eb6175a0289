/* SPDX-License-Identifier: Apache-2.0 */
/* The filters that a spec asks for beside the one built in, made before anything starts. */
#ifndef LAUNCH_FILTERS_H
#define LAUNCH_FILTERS_H

#include "confine/notify.h"
#include "confine/seccomp/seccomp_set.h"
#include "launch/launch.h"

struct launch_filters {
	struct sock_fprog file, calls; /* of `seccomp` and of `syscalls` */
	struct seccomp_set permitted;
	struct notify_rules listening; /* for the listener */
};

/*
 * Makes them and fills IO with them; FILTERS is all zero. A filter that cannot be read or understood is no reason to run
 * without it. With SEEN what the command calls is noted there.
 */
int launch_filters_make(const struct spec *spec, struct seccomp_set *seen,
			struct launch_filters *filters, struct launch_io *io, struct error *err);
void launch_filters_done(struct launch_filters *filters);

#endif
