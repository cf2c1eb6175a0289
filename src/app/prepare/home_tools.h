/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of tools in the caller's home: which are there, and which credentials lie in them. */
#ifndef APP_HOME_TOOLS_H
#define APP_HOME_TOOLS_H

#include "base/core/error.h"
#include "plan/plan.h"

/*
 * Looks for those of the table and for WORDS, the setting `home_tools`. A link in the place of one is shown when it leads to
 * what is shown anyway; else it is left out, as if it were not there.
 */
int home_tools_read(const char *home, const struct strv *words, struct plan_tools *ret_tools,
		    struct error *err);

void home_tools_done(struct plan_tools *tools);

#endif
