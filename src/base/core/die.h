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

/* Ends a development build where CONDITION does not hold. Release builds do not evaluate it: it must have no effect. */
#ifdef AISBX_INVARIANTS
#define INVARIANT_TEXT(line) #line
#define INVARIANT_PLACE(file, line) file ":" INVARIANT_TEXT(line)
#define invariant(condition)   \
	((condition) ? (void)0 \
		     : die("broken at " INVARIANT_PLACE(__FILE__, __LINE__) ": " #condition))
#else
#define invariant(condition) ((void)sizeof(condition))
#endif

#endif
