/* SPDX-License-Identifier: Apache-2.0 */
/* Which policy holds for a scan. */
#ifndef ENGINE_SCAN_POLICY_H
#define ENGINE_SCAN_POLICY_H

#include "scan/judge/policy.h"

/* FILE, else scan.yaml of the user's configuration, else the built-in one; *ret_policy is the caller's. */
int engine_scan_policy(const char *file, const char *const *env, struct scan_policy *ret_policy,
		       struct error *err);

#endif
