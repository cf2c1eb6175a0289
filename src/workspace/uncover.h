/*
 * New directories that hide nothing.
 *
 * The kernel marks every directory made in a merged one as hiding what lies below, also where nothing does. When reality
 * makes one of the same name later, that mark would make a deletion of all that is in it, though nobody inside has ever
 * seen it. Taken away while there is nothing to hide, it leaves one directory with what both put into it.
 */
#ifndef WORKSPACE_UNCOVER_H
#define WORKSPACE_UNCOVER_H

#include "workspace/delta.h"

/* Takes the mark from directories of the top of STACK on the way to what DELTA tells was added below WORKSPACE. */
void uncover_new(const struct view_stack *stack, const struct delta *delta, const char *workspace);

#endif
