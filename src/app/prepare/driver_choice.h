/* SPDX-License-Identifier: Apache-2.0 */
/* --driver auto: WebAssembly for what it can serve, the native sandbox for the rest. Only in the program with libraries. */
#ifndef APP_DRIVER_CHOICE_H
#define APP_DRIVER_CHOICE_H

#include "base/core/str.h"
#include "app/prepare/plan_context.h"
#include "plan/request.h"

/* "wasm" or "linux"; explains the choice in NOTES. Reads the code that is about to run, and runs nothing. */
const char *driver_choose(const struct request *request, const struct settings *profile,
			  const struct plan_context *around, struct strv *notes);

#endif
