/* A process that wants to end with its parent, across changes of its ids: the kernel forgets that with each of them. */
#ifndef BASE_PARENT_END_H
#define BASE_PARENT_END_H

#include <sys/types.h>

struct parent_end {
	int signal; /* 0: it does not want to */
	pid_t parent;
};

/* Before ids change, even for a moment. */
void parent_end_note(struct parent_end *ret_wish);
/* Afterwards: the wish is made again, and fulfilled at once when the parent has ended meanwhile. Keeps errno. */
void parent_end_renew(const struct parent_end *wish);

#endif
