/* SPDX-License-Identifier: Apache-2.0 */
/* What a project's own commands are: how it is tested, built, formatted, by the files it has. */
#ifndef APP_INTENT_H
#define APP_INTENT_H

#include "base/core/error.h"
#include "base/core/str.h"

/*
 * The command for INTENT (run, test, build, format, lint, bench) in the project at WORKSPACE. ERROR_USAGE for a word that
 * is no intent, ERROR_NOT_FOUND with the remedy when the project has none. Looks at names and at the targets of a
 * Makefile or the scripts of package.json; runs nothing.
 */
int intent_find(const char *intent, const char *workspace, struct strv *ret_command,
		struct error *err);

#endif
