/* SPDX-License-Identifier: Apache-2.0 */
/* Becoming the user that the sandbox shows, once its id maps are written. */
#ifndef LAUNCH_IDENTITY_H
#define LAUNCH_IDENTITY_H

#include "base/core/error.h"
#include "spec/spec.h"

/* No heap. Changing ids clears the parent-death signal and the dumpable flag: set them afterwards. */
int identity_take(const struct spec_ids *ids, struct error *err);

#endif
