/* SPDX-License-Identifier: Apache-2.0 */
/* What is hidden, as tables: the mask layer's source. Names are relative to the directory their table is for. */
#ifndef PLAN_MASK_LIST_H
#define PLAN_MASK_LIST_H

#include <stdbool.h>

/* Each ended by NULL. A name with * in its last part is a pattern. */

/* Of HOME, from home_tools.tsv: directories of tools, shown also where HOME is not. */
extern const char *const mask_home_kept[];
/* Of HOME, hidden always. */
extern const char *const mask_home_hidden[];
/* Those of them that lie outside of tools' directories. */
extern const char *const mask_home_outside[];
/* All that lie inside, also names with a pattern before their last part: a look at the disk has to resolve it. */
extern const char *const mask_tool_hidden[];
/* Of /, hidden always. */
extern const char *const mask_system_hidden[];
/* Of /, always there and empty: programs expect them to exist. */
extern const char *const mask_system_empty[];
/* Of the workspace's top, hidden with `workspace_secrets: mask`. */
extern const char *const mask_workspace_hidden[];

/* What of NAME, one of mask_home_hidden, lies behind HOME's LINK; NULL when that does not lead there. */
const char *mask_rest_behind(const char *name, const char *link);

/* Whether PATH is one of mask_home_hidden below HOME, or lies in one. */
bool mask_home_hides(const char *home, const char *path);

#endif
