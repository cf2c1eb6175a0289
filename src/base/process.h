/* Whether a process number still means who it meant. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether process PID can be the one that was there at THEN_MS (since the epoch): it exists and did not begin later, give
 * or take SLACK_MS for a clock that was set meanwhile. Numbers are given again and again on a busy machine.
 */
bool process_is_of(int64_t pid, uint64_t then_ms, uint64_t slack_ms);

#endif
