/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: finds the verb, calls it, shows what came of it. */
#ifndef FRONT_CLI_CLI_H
#define FRONT_CLI_CLI_H

#include "base/core/error.h"

/* Returned by cli_main when the verb lives in aisbx-full: call it with the same argv. */
#define CLI_NEEDS_LIBRARIES (-1)

/* Everything from argv to the exit status. ENV is borrowed for the call. */
int cli_main(int argc, char *const *argv, const char *const *env);

/* Shows an error of the program itself and returns the exit status for the verb in ARGV. */
int cli_fail(char *const *argv, const struct error *err, const char *const *env);

#endif
