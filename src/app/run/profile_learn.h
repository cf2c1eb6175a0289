/* SPDX-License-Identifier: Apache-2.0 */
/* `profile learn`: a profile that permits what a command was seen to call, and no more. */
#ifndef APP_PROFILE_LEARN_H
#define APP_PROFILE_LEARN_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "observe/result.h"
#include "plan/request.h"

/*
 * Runs the request's command and, where it succeeds, writes the user's profile NAME (NULL: called as the command): {name,
 * path, extends, mem, syscalls, added}. One that was learned before is added to; no other file is replaced. A
 * command that fails teaches nothing: *ret_answer is NULL then, and the result says why. CAPTURE as for app_run.
 */
int app_profile_learn(const struct request *request, const char *name, bool capture,
		      struct run_result *ret_result, struct value **ret_answer, struct error *err);

#endif
