/* SPDX-License-Identifier: Apache-2.0 */
/* The languages that can be scanned, and how a text's language is recognised. */
#ifndef SCAN_LANGUAGE_H
#define SCAN_LANGUAGE_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>

enum scan_language { SCAN_PYTHON, SCAN_JAVASCRIPT, SCAN_SHELL, SCAN_UNKNOWN };
#define SCAN_LANGUAGES ((size_t)SCAN_UNKNOWN)

/* "python", "javascript", "shell", "unknown". */
const char *scan_language_name(enum scan_language language);

/* By a name people use: python, py, python3, javascript, js, node, shell, sh, bash, dash. */
enum scan_language scan_language_named(const char *name);

/* By the interpreter that would run it: python3.11, /usr/bin/node, bash. */
enum scan_language scan_language_of_program(const char *program);

/* The words of the first line, "#!/usr/bin/env python3", behind its mark; false when it is no such line. */
bool scan_first_line(const char *text, size_t len, struct strv *ret_words);

/* By the ending of PATH (NULL: none), else by the first line of the text. */
enum scan_language scan_language_of(const char *path, const char *text, size_t len);

#endif
