/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for a workspace to begin with. */
#ifndef APP_INIT_H
#define APP_INIT_H

#include "base/core/error.h"
#include "base/core/value.h"

/* Writes .aisbx.yaml to the current directory, over nothing that is there: {path}. */
int app_init(struct value **ret_answer, struct error *err);

#endif
