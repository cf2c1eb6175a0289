/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers as data. */
#ifndef APP_DOCTOR_DRIVERS_H
#define APP_DOCTOR_DRIVERS_H

#include "base/core/error.h"
#include "base/core/value.h"

#include <stdbool.h>

/*
 * List of {name, available, isolation, strength, summary, cannot_enforce, degraded, exec, secrets, start_ms, measured, why}; with
 * MEASURES, start times are measured first. The caller owns the answer.
 */
int app_drivers(const char *const *environ, bool measures, struct value **ret_answer,
		struct error *err);

#endif
