/* SPDX-License-Identifier: Apache-2.0 */
/* What a command did not find because it is hidden here, in words that name the way out. */
#ifndef APP_HIDDEN_WORDS_H
#define APP_HIDDEN_WORDS_H

#include "observe/result.h"
#include "spec/spec.h"

/* Whether the command failed in a way that something hidden may be the cause of. */
bool hidden_words_are_due(const struct strv *command, const struct run_result *result);

/*
 * Where the host has the program or file that COMMAND names, and SPEC, a whole plan, leaves it out: a sentence in place of
 * "no such file", as the result's message where the command could not be started, else as a note. Nothing is said of what is
 * hidden for what it holds: its absence is intended, and its presence is not revealed inside.
 */
void hidden_words_add(const struct spec *spec, const struct strv *command,
		      struct run_result *result);

#endif
