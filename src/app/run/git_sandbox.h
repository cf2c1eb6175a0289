/* SPDX-License-Identifier: Apache-2.0 */
/* Git in a throw-away sandbox, for objects that a sandbox wrote. */
#ifndef APP_GIT_SANDBOX_H
#define APP_GIT_SANDBOX_H

#include "workspace/consent/git_probe.h"

/* A git_probe_runner: no network, no changes kept, GIT_PROBE_MS. */
int git_sandbox_run(const char *directory, const char *objects, const char *text,
		    struct str *ret_output, struct error *err);

#endif
