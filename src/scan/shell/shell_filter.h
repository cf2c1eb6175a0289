/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that change what passes through them. Private to the scanner's shell files. */
#ifndef SCAN_SHELL_FILTER_H
#define SCAN_SHELL_FILTER_H

#include "base/core/str.h"

/* Replaces TEXT by what the command makes of it; false when that is not certain. */
bool shell_filter(const struct strv *words, struct str *text);

/* What printf, with its format at FIRST among the words, prints; false when that is not certain. */
bool shell_format(const struct strv *words, size_t first, struct str *out);

#endif
