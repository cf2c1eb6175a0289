/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two programs this is: aisbx-full reads YAML, aisbx hands such calls over to it. */
#ifndef APP_READS_YAML_H
#define APP_READS_YAML_H

#include <stdbool.h>

extern const bool app_reads_yaml;

#endif
