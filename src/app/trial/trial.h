/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in sandboxes that no other process uses: no supervisor, one start, one end. */
#ifndef APP_TRIAL_H
#define APP_TRIAL_H

#include "app/sandbox/sandbox.h"

/*
 * Runs the request's command in the sandbox NAME, which must be idle: what it was made with, the request's flags laid
 * over that. The sandbox stays.
 */
int app_run_in(const char *name, const struct request *request,
	       const struct app_run_options *options, struct run_result *ret_result,
	       struct error *err);

/*
 * The same in a fork of it that is gone afterwards: what the command writes neither counts nor stays. FORK_NAME is the
 * fork's, chosen by the caller, who can remove it should this process be killed.
 */
int app_run_in_fork(const char *name, const char *fork_name, const struct request *request,
		    const struct app_run_options *options, struct run_result *ret_result,
		    struct error *err);

#endif
