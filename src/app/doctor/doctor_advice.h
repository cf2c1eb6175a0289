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

/* Why a layer does not work, when that is known, and what to do about it; FIX where a setting does (fix_steps.h), else NULL. */
struct doctor_advice {
	struct str why, remedy;
	struct value *fix;
};

/* Cleanup for owned(doctor_advice_done) struct doctor_advice a, which begins as zeros. */
void doctor_advice_done(struct doctor_advice *advice);

/* About LAYER, which fails with ERRNUM on this machine. */
void doctor_advise(const struct doctor_machine *machine, enum layer layer, int errnum,
		   struct doctor_advice *advice);

/*
 * List of {setting, value, detail, remedy}: host settings that make a sandbox's neighbours easier prey. What mends them goes
 * to the list FIXES, with the detail as its `why`.
 */
struct value *doctor_warnings(const struct doctor_machine *machine, struct value *fixes);

#endif
