/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's record and a shared one. Only in the program with libraries. */
#ifndef APP_FLEET_H
#define APP_FLEET_H

#include "history/fleet.h"

/* Sends what is not there yet; {edge, server, sent, added, acked}. AS_NEW as for history_sync. */
int app_sync(const char *url, bool as_new, struct value **ret_answer, struct error *err);

#endif
