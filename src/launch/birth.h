/* The clone that makes a sandbox's init. Private to launch. */
#ifndef LAUNCH_BIRTH_H
#define LAUNCH_BIRTH_H

#include "launch/start.h"

/*
 * Makes init with its namespaces and closes what is its; 0, or -1 and nothing was made. Where the kernel refuses one that
 * the spec allows to be absent, START and LAUNCH name it.
 */
int birth_init(struct launch *launch, struct start *start, struct error *err);

#endif
