/* SPDX-License-Identifier: Apache-2.0 */
/* The effective policy as a program inside may read it, at /run/aisbx/policy.json. */
#ifndef LAUNCH_POLICY_H
#define LAUNCH_POLICY_H

#include "base/core/str.h"
#include "spec/spec.h"

/* Appends one JSON object and a newline. Contains nothing about the host beyond what the sandbox sees anyway. */
void policy_write(const struct spec *spec, struct str *out);

#endif
