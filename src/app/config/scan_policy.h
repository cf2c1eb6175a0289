/* SPDX-License-Identifier: Apache-2.0 */
/* Which policy holds for a scan. */
#ifndef APP_SCAN_POLICY_H
#define APP_SCAN_POLICY_H

#include "scan/judge/policy.h"

/* FILE, else scan.yaml of the user's configuration, else the built-in one; *ret_policy is the caller's. */
int app_scan_policy(const char *file, const char *const *env, struct scan_policy *ret_policy,
		    struct error *err);

#endif
