/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a process whose state is inconsistent. */
#ifndef BASE_DIE_H
#define BASE_DIE_H

#include <stdnoreturn.h>

/*
 * Writes WORDS to standard error and ends by SIGABRT, or by status 127 where that is held off. Not abort(): in a process
 * cloned by hand musl's would signal the thread it was cloned from. No heap.
 */
noreturn void die(const char *words);

#endif
