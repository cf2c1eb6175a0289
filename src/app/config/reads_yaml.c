/* SPDX-License-Identifier: Apache-2.0 */
/* aisbx-full's answer to "can this process read YAML". */
#include "app/config/reads_yaml.h"

const bool app_reads_yaml = true;
