/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this machine, as far as their device nodes show them. */
#ifndef PLAN_GPU_H
#define PLAN_GPU_H

#include "base/core/str.h"

/* Names of the nodes below /dev, one for each GPU. */
void gpu_list(struct strv *ret_names);

#endif
