/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of an agent's file: put into its text, and taken out of it again. Pure. */
#ifndef APP_AGENT_SETUP_EDIT_H
#define APP_AGENT_SETUP_EDIT_H

#include "app/agent/setup.h"

/*
 * Puts ROW's entry into TEXT, for PROGRAM with FLAGS of the hook, and adds what was done to the list EDITS, in order: {core, full, lead} with
 * {place} or {mark} of the entry, {ended} where its last line got a newline, and {keys} of an object or list that had to be made. An entry that is there already is ERROR_CONFLICT.
 */
int setup_put(const struct setup_row *row, const char *program, const char *flags, struct str *text,
	      struct value *edits, struct error *err);

/*
 * Undoes one of those, the last one first. 1, or 0 when it is no longer there, or when others have put something into what
 * was made. ERROR_CONFLICT when it was changed. One that is {unfinished} need not have been put in.
 */
int setup_take(const struct value *edit, struct str *text, struct error *err);

#endif
