/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping all processes of a sandbox, until none of them runs. Private to init. */
#ifndef LAUNCH_HALT_H
#define LAUNCH_HALT_H

#include "base/core/error.h"

/*
 * Stops every process of this namespace but the caller, who is its init, and waits until none runs any more; bounded.
 * PROC_FD is a proc that hides none of them. -1 names one that does not stop; those that did stay stopped.
 */
int halt_all(int proc_fd, struct error *err);

#endif
