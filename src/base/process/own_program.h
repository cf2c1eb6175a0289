/* SPDX-License-Identifier: Apache-2.0 */
/* Where the other programs of aisbx lie. */
#ifndef BASE_OWN_PROGRAM_H
#define BASE_OWN_PROGRAM_H

#include "base/core/str.h"

/*
 * The absolute path of NAME, a program of ours that can be executed: beside the running one first, so that a build folder or
 * a moved tree never starts another version's; then where such a tree has it; then where we were installed to. NULL when it
 * is at none of these. Owned by the caller.
 */
char *own_program(const char *name);

/* Adds every path at which own_program() would look for a program of ours, whether there is one or not. */
void own_program_places(struct strv *ret_paths);

#endif
