/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stays above another one, adopts what that leaves behind, and ends it. */
#ifndef ENVD_KEEPER_H
#define ENVD_KEEPER_H

/*
 * Returns in a child of the caller; the caller itself becomes the keeper. It ends with the child, or after SIGTERM, and by then
 * no process below it is left.
 */
void keeper_stay(void);

#endif
