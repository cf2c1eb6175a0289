/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a layer that does not work here, and settings of this machine that deserve a warning. */
#ifndef APP_DOCTOR_ADVICE_H
#define APP_DOCTOR_ADVICE_H

#include "base/core/str.h"
#include "base/core/value.h"
#include "host/host.h"
#include "spec/spec.h"

/* Where kernel settings are read; "" outside tests, so that those can show other machines. */
struct doctor_machine {
	const char *root;
	const struct host *host;
	const char *program; /* path of this program, for rules that name it */
};

/* Appends why LAYER fails with ERRNUM on this machine, when that is known, and what to do about it. */
void doctor_advise(const struct doctor_machine *machine, enum layer layer, int errnum,
		   struct str *why, struct str *remedy);

/* List of {setting, value, detail, remedy}: host settings that make a sandbox's neighbours easier prey. */
struct value *doctor_warnings(const struct doctor_machine *machine);

#endif
