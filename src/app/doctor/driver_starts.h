/* SPDX-License-Identifier: Apache-2.0 */
/* How long each driver takes to start a command here, from the cache. */
#ifndef APP_DOCTOR_DRIVER_STARTS_H
#define APP_DOCTOR_DRIVER_STARTS_H

#include "base/core/value.h"
#include "host/host.h"

/* Starts `true` several times with each of DRIVERS over an empty workspace, and replaces what the cache has. */
int driver_starts_measure(const struct host *host, const char *const *environ,
			  const struct strv *drivers, struct error *err);

/* What was measured last; empty where nothing was, or where it is not the caller's own file. */
void driver_starts_read(const struct host *host, struct str *ret_text);

/* Adds `start_ms` and `measured`, both null where TEXT does not have DRIVER. */
void driver_starts_add(const char *text, const char *driver, struct value *row);

#endif
