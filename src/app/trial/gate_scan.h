/* SPDX-License-Identifier: Apache-2.0 */
/* The gates scan==clean and no-secrets: what is found in a sandbox's changes. */
#ifndef APP_GATE_SCAN_H
#define APP_GATE_SCAN_H

#include "decide/gate/gate.h"

/*
 * Scans every file that sandbox NAME made or changed, as it is now; clean is analysable and of a risk of none or low.
 * Files of an unknown language are listed in the evidence and skipped, unless they can be executed.
 */
int gate_scan(const char *name, struct gate_verdict *ret_verdict, struct error *err);

/* Whether no secret that the sandbox was made with, or that the user has stored, is in what it made or changed. */
int gate_secrets(const char *name, struct gate_verdict *ret_verdict, struct error *err);

#endif
