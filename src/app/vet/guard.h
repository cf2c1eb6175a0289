/* SPDX-License-Identifier: Apache-2.0 */
/* Should this command run directly, in a sandbox, after asking, or not at all. */
#ifndef APP_GUARD_H
#define APP_GUARD_H

#include "base/core/error.h"
#include "decide/guard/guard.h"
#include "plan/request.h"

/* Decides for the request's command, which is not empty, and keeps a record of it. Runs nothing. */
int app_guard(const struct request *request, struct guard_verdict *ret_verdict, struct error *err);

/* Runs the command as it is, without any protection, and waits; *ret_status is what a shell would say. */
int app_run_directly(const struct strv *command, int *ret_status, struct error *err);

#endif
