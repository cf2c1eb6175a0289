/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell: what a hint or a command names comes out as one word, whatever bytes are in it. */
#ifndef BASE_SHELL_QUOTE_H
#define BASE_SHELL_QUOTE_H

#include "base/core/str.h"

/* Adds WORD as it is where a shell takes every byte of it literally, else in single quotes. */
void shell_quote_add(struct str *out, const char *word);

#endif
