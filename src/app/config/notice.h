/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that a person needs once a day, and not with every command. */
#ifndef APP_NOTICE_H
#define APP_NOTICE_H

#include <stdbool.h>

/*
 * Whether TEXT, one line, has not been shown since this time yesterday; from now on it counts as shown. True where that
 * cannot be known or kept: a notice too many is better than none.
 */
bool app_notice_due(const char *text);

#endif
