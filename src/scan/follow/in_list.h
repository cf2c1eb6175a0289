/* SPDX-License-Identifier: Apache-2.0 */
/* Words in one text, with a blank between each two: the scanner's small tables. */
#ifndef SCAN_IN_LIST_H
#define SCAN_IN_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Whether WORD, which is not empty, stands in WORDS as a whole. */
bool in_list(const char *words, const char *word);
/* The same, of LEN bytes. */
bool in_list_bytes(const char *words, const char *word, size_t len);

#endif
