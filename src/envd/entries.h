/* SPDX-License-Identifier: Apache-2.0 */
/* A file or directory as it is described to clients. */
#ifndef ENVD_ENTRIES_H
#define ENVD_ENTRIES_H

#include "base/text/json_write.h"

/* E2B's EntryInfo of PATH, absolute, as a value of JSON. False with errno when there is none. */
bool entry_write(struct json *json, const char *path);

#endif
