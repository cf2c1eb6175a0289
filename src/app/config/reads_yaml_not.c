/* SPDX-License-Identifier: Apache-2.0 */
/* The hot program's answer to "can this process read YAML"; aisbx-full links the other one, which wins. */
#include "app/config/reads_yaml.h"

const bool app_reads_yaml __attribute__((weak)) = false;
