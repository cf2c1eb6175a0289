/* SPDX-License-Identifier: Apache-2.0 */
/* Languages that a file of limits can tell apart, by the command that would run them. */
#ifndef PROFILE_LANGUAGE_H
#define PROFILE_LANGUAGE_H

#include "base/core/str.h"

enum profile_language { PROFILE_PYTHON, PROFILE_JAVASCRIPT, PROFILE_SHELL, PROFILE_LANGUAGES };

/* By a name people use: python, javascript, js, node, shell, sh, bash; PROFILE_LANGUAGES for none of them. */
enum profile_language profile_language_named(const char *name);

/* By the program that COMMAND (may be NULL) starts, also behind env; PROFILE_LANGUAGES when it is none of these. */
enum profile_language profile_language_of(const struct strv *command);

#endif
