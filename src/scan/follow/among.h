/* SPDX-License-Identifier: Apache-2.0 */
/* Words in one text, with a blank between each two: the scanner's small tables. */
#ifndef SCAN_AMONG_H
#define SCAN_AMONG_H

#include <stdbool.h>
#include <stddef.h>

/* Whether WORD, which is not empty, stands in WORDS as a whole. */
bool is_among(const char *words, const char *word);
/* The same, of LEN bytes. */
bool is_among_bytes(const char *words, const char *word, size_t len);

#endif
