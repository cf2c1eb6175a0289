/* SPDX-License-Identifier: Apache-2.0 */
/* How grave it is that something may mean this; where only some meanings are kept, the gravest are. */
#ifndef SCAN_WEIGH_H
#define SCAN_WEIGH_H

#include "scan/follow/meaning.h"

unsigned weigh_python(const struct meaning *meaning);
unsigned weigh_javascript(const struct meaning *meaning);

#endif
