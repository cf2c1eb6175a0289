/* SPDX-License-Identifier: Apache-2.0 */
/* Destructive SQL, recognised by its text. */
#ifndef SCAN_SQL_H
#define SCAN_SQL_H

#include "scan/rule.h"

/* High: a whole data base is dropped; medium: a table is dropped or emptied; else none. */
enum scan_severity sql_severity(const char *text);

#endif
