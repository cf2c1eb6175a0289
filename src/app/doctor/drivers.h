/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers as data. */
#ifndef APP_DOCTOR_DRIVERS_H
#define APP_DOCTOR_DRIVERS_H

#include "base/core/value.h"

/*
 * List of {name, available, isolation, strength, summary, cannot_enforce, degraded, exec, secrets, why}. The caller owns the
 * answer.
 */
void app_drivers(struct value **ret_answer);

#endif
