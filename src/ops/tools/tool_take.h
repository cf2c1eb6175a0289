/* SPDX-License-Identifier: Apache-2.0 */
/* One argument of a tool, taken over into the verb's call. */
#ifndef OPS_TOOL_TAKE_H
#define OPS_TOOL_TAKE_H

#include "ops/tools/tool.h"

/* ITEM is NULL where the argument was not given. */
int tool_take(struct tool_call *call, const struct tool_arg *arg, const struct value *item,
	      struct error *err);

/* Gives the call's verb a parameter; nothing happens where it has none of that name. */
void tool_add_param(struct op_call *call, const char *name, const char *value);

#endif
