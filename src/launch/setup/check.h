/* SPDX-License-Identifier: Apache-2.0 */
/* The last look before the payload is released: is the tree what the plan promised? */
#ifndef LAUNCH_CHECK_H
#define LAUNCH_CHECK_H

#include "base/core/error.h"
#include "confine/root/root.h"

/*
 * Asks the kernel for the flags of every mount that was attached (the parts and the fresh ones) and refuses any that
 * could carry a set-id program or a device of the host, or that is writable against the plan. Runs in the new root.
 */
int check_mounts(const struct root_parts *parts, struct error *err);

#endif
