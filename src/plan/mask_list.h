/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden, as tables: the mask layer's source. Names are relative to the directory their table is for. */
#ifndef PLAN_MASK_LIST_H
#define PLAN_MASK_LIST_H

/* Each ended by NULL. A name with * in its last part is a pattern. */

/* Of HOME, visible unless `home: full`: tool chains and their caches, nothing that holds a credential. */
extern const char *const mask_home_kept[];
/* Of HOME, hidden always. */
extern const char *const mask_home_hidden[];
/* Of /, hidden always. */
extern const char *const mask_system_hidden[];
/* Of /, always there and empty: programs expect them to exist. */
extern const char *const mask_system_empty[];
/* Of the workspace's top, hidden with `workspace_secrets: mask`. */
extern const char *const mask_workspace_hidden[];

#endif
