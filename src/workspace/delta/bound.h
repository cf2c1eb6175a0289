/* SPDX-License-Identifier: Apache-2.0 */
/* How much a scan may look at, read and take: a payload chooses what there is to scan. */
#ifndef WORKSPACE_BOUND_H
#define WORKSPACE_BOUND_H

#include "workspace/delta/change.h"

#include <stddef.h>

/* Starts the clock, once for all layers of a scan. */
void bound_start(struct change_scan *scan);

/* Whether there is time left; marks the scan when not. */
bool bound_has_time(struct change_scan *scan);

/* Counts one entry; false when it is one too many, or there is no time to look at it. */
bool bound_entry(struct change_scan *scan);

/* Whether LEN more bytes may be compared. */
bool bound_may_compare(const struct change_scan *scan, uint64_t len);

#endif
