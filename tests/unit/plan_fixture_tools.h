/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up home in which every tool of the table is installed. */
#ifndef TESTS_PLAN_FIXTURE_TOOLS_H
#define TESTS_PLAN_FIXTURE_TOOLS_H

#include "plan/mask_list.h"
#include "plan/plan.h"

#include <string.h>

static inline void fixture_add_tools(struct plan_tools *tools)
{
	for (const char *const *name = mask_home_kept; *name; name++)
		strv_add(&tools->shown, *name);
	for (const char *const *name = mask_tool_hidden; *name; name++) {
		const char *star = strchr(*name, '*');

		if (!star || !strchr(star, '/'))
			strv_add(&tools->hidden, *name);
	}
}

static inline void fixture_tools_done(struct plan_tools *tools)
{
	strv_done(&tools->shown);
	strv_done(&tools->hidden);
	strv_done(&tools->targets);
}

#endif
