/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the landlock driver share. */
#ifndef DRIVER_LANDLOCK_PARTS_H
#define DRIVER_LANDLOCK_PARTS_H

#include "driver/copied.h"

/* Rules for what the plan shows of this machine, to be read and executed. RULESET_FD: confine/landlock.h. */
int grants_add(int ruleset_fd, const struct spec *spec, struct error *err);

/* Answers the calls that wait at the listener. */
void attribute_handle(struct copied_task *task);

#endif
