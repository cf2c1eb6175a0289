/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers a run's changes are counted in. */
#ifndef APP_CHANGE_SCANS_H
#define APP_CHANGE_SCANS_H

#include "driver/task.h"
#include "workspace/delta/change.h"

/* Orders a list of changes, for qsort(3). */
int change_compare(const void *left, const void *right);

/* Lets SCAN count no file as deleted that the masks of SPEC hid. */
void change_scan_masks(struct change_scan *scan, const struct spec *spec);

/* The layers of a run, and the top of a named sandbox. */
void change_scan_run(struct change_scan *scan, const struct task *task);
void change_scan_top(struct change_scan *scan, int upper_fd);

#endif
