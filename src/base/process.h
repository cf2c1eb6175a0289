/* Processes: whether a number still means who it meant, and leaving the one that started us behind. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether process PID can be the one that was there at THEN_MS (since the epoch): it lives and did not begin later, give
 * or take SLACK_MS for a clock that was set meanwhile. Numbers are given again and again on a busy machine.
 */
bool process_is_of(int64_t pid, uint64_t then_ms, uint64_t slack_ms);

/*
 * For a child that outlives its parent: signals as by default and none blocked, a session of its own, /dev/null for
 * standard streams, no other descriptors but those to KEEP (as fd_close_others), NAME. 0, or -1 with errno.
 */
int process_detach(const int *keep, size_t count, const char *name);

#endif
