/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming the user that the sandbox shows, once its id maps are written. */
#ifndef LAUNCH_IDENTITY_H
#define LAUNCH_IDENTITY_H

#include "base/core/error.h"
#include "spec/spec.h"

#include <stdbool.h>

/* Who a command runs as, in ids of the sandbox. */
struct identity {
	uid_t uid;
	gid_t gid;
};

/* No heap. Changing ids clears the parent-death signal and the dumpable flag: set them afterwards. */
int identity_take(const struct spec_ids *ids, struct error *err);

/*
 * The first step of a process that a resident init has started: out of init's capabilities, and into USER (NULL: it stays what it
 * is). May share init's memory: writes none, and leaves it as undumpable as it was.
 */
int identity_leave_init(const struct spec *spec, const struct identity *user, struct error *err);

/*
 * Of a resident init, around a look at the processes of USER in /proc, which shows a process to its own user only: begins, and goes back.
 * A failure leaves less to be seen, and nothing else.
 */
void identity_look_as(const struct spec *spec, const struct identity *user);
void identity_look_back(const struct spec *spec);

#endif
