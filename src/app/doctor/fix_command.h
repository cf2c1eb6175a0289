/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that change a setting of this machine: written for a shell, and run exactly as they were shown. */
#ifndef APP_DOCTOR_FIX_COMMAND_H
#define APP_DOCTOR_FIX_COMMAND_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>

/*
 * What stands before each command: nothing for root, "sudo -n " where that works without a password, else "sudo " and the
 * commands are only shown: a password is given to sudo by its user, not to a program that runs it.
 */
struct fix_way {
	const char *prefix;
	bool can_run;
};

/* Asks sudo, where the caller is not root. */
void fix_way_find(struct fix_way *ret_way);

/* Appends what makes TEXT all that is in the file PATH; without TEXT, what removes it. */
void fix_command_put(const struct fix_way *way, const char *path, const char *text,
		     struct str *out);

/* Runs a command line without input. ERR has the first line of its complaint. */
int fix_command_run(const char *command, struct error *err);

#endif
