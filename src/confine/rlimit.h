/* SPDX-License-Identifier: Apache-2.0 */
/* Per-process limits and scheduling: the smaller of ours and the caller's hard limit. */
#ifndef CONFINE_RLIMIT_H
#define CONFINE_RLIMIT_H

#include "spec/spec.h"

/*
 * Sets all limits of the calling process. Where the kernel counts processes per user namespace (5.14), they are
 * bounded too when there is NO_GROUP; then a file may also not be larger than all memory. 0, or -1 with errno. No heap.
 */
int rlimit_apply(const struct spec_limits *limits, bool no_group);

/*
 * All cores, but at the lowest weight, when no share was asked for. Done last: the start itself should not run at that
 * weight. 0, or -1 with errno. No heap.
 */
int rlimit_step_back(const struct spec_limits *limits);

#endif
