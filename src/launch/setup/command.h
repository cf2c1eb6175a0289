/* SPDX-License-Identifier: Apache-2.0 */
/* Executing the command: argv exactly as given, looked up on the sandbox's own PATH. */
#ifndef LAUNCH_COMMAND_H
#define LAUNCH_COMMAND_H

#include "base/core/error.h"
#include "base/core/str.h"

/* Returns only on failure, with ERROR_EXEC_NOT_FOUND or ERROR_EXEC_REFUSED. No heap. */
void command_exec(const struct strv *command, const struct strv *env, struct error *err);

#endif
