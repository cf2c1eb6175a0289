/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and named sandboxes. In aisbx-full only. */
#ifndef APP_SANDBOX_POLICY_H
#define APP_SANDBOX_POLICY_H

#include "app/prepare/plan_context.h"
#include "app/sandbox/sandbox.h"
#include "app/sandbox/sandbox_state.h"

#pragma weak sandbox_policy
#pragma weak sandbox_policy_lower

/* What the sandbox was made with, and the request over it. */
int sandbox_request_over(const struct sandbox *sandbox, const struct request *request,
			 struct request *ret_whole, struct plan_context *around, struct error *err);

/* Asks about the request's command in the sandbox NAME; RET_MOST as of policy_start(). */
int sandbox_policy(const char *name, const struct request *request, struct spec_limits *ret_most,
		   struct error *err);

/* Lowers the limits of one command. What the sandbox itself has beyond MOST is refused: a start cannot be taken back. */
int sandbox_policy_lower(const char *name, const struct spec_limits *most,
			 struct sandbox_state *state, struct spec *spec, struct error *err);

#endif
