/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of history share. Private to history. */
#ifndef HISTORY_PARTS_H
#define HISTORY_PARTS_H

#include "history/db.h"

struct history {
	struct db *db;
	char *state_dir;
};

#endif
