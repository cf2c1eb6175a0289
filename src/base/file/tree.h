/* SPDX-License-Identifier: Apache-2.0 */
/* Removing whole directories, whatever they hold. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

/*
 * Removes NAME below DIR_FD with everything in it. Neither depth (nothing recurses) nor modes matter, as long as
 * the caller owns what is there; links are not followed. 0, or -1 with errno when something stays. No heap but
 * readdir's.
 */
int tree_remove(int dir_fd, const char *name);

#endif
