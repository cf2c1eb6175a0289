/* SPDX-License-Identifier: Apache-2.0 */
/* Kept output is bounded automatically: by every run that adds much to it, and by some of the others. */
#ifndef APP_LOG_ROOM_H
#define APP_LOG_ROOM_H

#include "base/core/error.h"
#include "observe/result.h"

/* Of people's runs, and of programs' together with them. */
#define LOG_BYTES_MAX (UINT64_C(5) << 30)
#define LOG_COUNT_MAX 20000u
/* Of one owner, so that a program pushes out no more than its own. */
#define LOG_OWNER_BYTES_MAX (UINT64_C(1) << 30)
#define LOG_OWNER_COUNT_MAX 10000u

/* In the state directory while gc has an archive. */
#define LOG_ARCHIVED "archive/on"

/* After a run of OWNER (NULL: a person's): removes the oldest output beyond the bounds. */
void log_room_keep(const char *state_dir, const char *owner, const struct run_result *result);

/* Removes the oldest of OWNER's beyond its bounds. Only in aisbx-full, where programs are served. */
int app_log_trim_owner(const char *state_dir, const char *owner, struct error *err);

#endif
