/* Per-process limits and scheduling: the smaller of ours and the caller's hard limit. */
#ifndef CONFINE_RLIMIT_H
#define CONFINE_RLIMIT_H

#include "spec/spec.h"

/*
 * Sets all limits of the calling process. Where the kernel counts processes per user namespace (5.14), COUNT_PIDS
 * bounds them too, for hosts without a usable cgroup. 0, or -1 with errno. No heap.
 */
int rlimit_apply(const struct spec_limits *limits, bool count_pids);

#endif
