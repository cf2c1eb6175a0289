/* SPDX-License-Identifier: Apache-2.0 */
/* A process that wants to end with its parent: from its beginning, and across changes of its ids. */
#ifndef BASE_PARENT_END_H
#define BASE_PARENT_END_H

#include <sys/types.h>

/*
 * In a child of PARENT, before anything that may take its time: SIG comes when that ends, and at once when it has ended
 * already, which the kernel's death signal alone would miss. PARENT must have been determined before the fork.
 */
void parent_end_follow(pid_t parent, int sig);

/* The kernel forgets such a wish with every change of ids. */
struct parent_end {
	int signal; /* 0: it does not want to */
	pid_t parent;
};

/* Before ids change, even for a moment. */
void parent_end_note(struct parent_end *ret_wish);
/* Afterwards: the wish is made again, and fulfilled at once when the parent has ended meanwhile. Keeps errno. */
void parent_end_renew(const struct parent_end *wish);

#endif
