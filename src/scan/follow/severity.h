/* SPDX-License-Identifier: Apache-2.0 */
/* How grave it is that something may mean this; where only some meanings are kept, the gravest are. */
#ifndef SCAN_SEVERITY_H
#define SCAN_SEVERITY_H

#include "scan/follow/abstract_value.h"

unsigned severity_python(const struct abstract_value *value);
unsigned severity_javascript(const struct abstract_value *value);

#endif
