/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as programs write and hide them: escapes, base64, hexadecimal, rot13, reversal. All bounded by the input. */
#ifndef SCAN_FOLD_H
#define SCAN_FOLD_H

#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Stands in a text for a part that is not known. */
#define FOLD_GAP '\x01'

/*
 * Adds the text of a literal's body. *RET_HIDES becomes true when escapes spell letters that could have been written as
 * they are.
 */
void fold_escapes(struct str *out, const char *body, size_t len, bool *ret_hides);

/* False when TEXT is not of that form. White space is passed over; the padding of base64 may be missing. */
bool fold_base64(struct str *out, const char *text, size_t len);
bool fold_hex(struct str *out, const char *text, size_t len);
/* %41%42 as in addresses. */
void fold_percent(struct str *out, const char *text, size_t len);
void fold_rot13(struct str *out, const char *text, size_t len);
void fold_reverse(struct str *out, const char *text, size_t len);
/* Adds a character by its number, as UTF-8. */
void fold_character(struct str *out, unsigned long number);

#endif
