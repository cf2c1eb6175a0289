/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What doctor found wrong mended, and taken back. Only in the program with libraries: weak elsewhere.
 *
 *   propose:  doctor's `fixes`, with the commands           take back:  the record, newest first, with the commands
 *   mend:     for each step                                 for each step, from the last to the first
 *               1. what is there goes to STATE/doctor          1. its command runs, unless others changed the file since
 *               2. its command runs                            2. it goes out of the record
 *               3. the record says that it is done
 *
 * Killed between two of these, the record has every step that may have been taken: taking back looks at what is there.
 */
#ifndef APP_DOCTOR_FIX_H
#define APP_DOCTOR_FIX_H

#include "base/core/error.h"
#include "base/core/value.h"

#include <stdbool.h>

/* [{name, why, steps, commands}]. *RET_CAN_RUN: whether this caller can run them. */
int app_fixes(struct value **ret_list, bool *ret_can_run, struct error *err);

/* Does one of those. A failure leaves on record what was done before. */
int app_fix(const struct value *fix, struct error *err);

/* What is on record, as [{id, name, commands, left}]; LEFT are files that others changed since, which stay as they are. */
int app_fixes_done(struct value **ret_list, bool *ret_can_run, struct error *err);

/* Takes the one with this id back. */
int app_fix_undo(int64_t id, struct error *err);

#endif
