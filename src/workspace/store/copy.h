/* SPDX-License-Identifier: Apache-2.0 */
/* Copying a whole top. */
#ifndef WORKSPACE_COPY_H
#define WORKSPACE_COPY_H

#include "workspace/store/sandbox.h"

/* Makes layer META a copy of the sandbox's top, complete with its record. The sandbox's processes must be frozen. */
int copy_top(const struct sandbox *sandbox, const struct layer_meta *meta, struct error *err);

#endif
