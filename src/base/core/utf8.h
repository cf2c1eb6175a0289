/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, read strictly: neither overlong forms nor surrogates, nothing beyond Unicode. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the character that begins at BYTES (at least one), and its number; 0 when there is none. */
size_t utf8_decode(const char *bytes, size_t len, uint32_t *ret_point);

/* Bytes of a character that begins with FIRST; 1 for what begins none of several. */
size_t utf8_expected(unsigned char first);

/* Whether the bytes are UTF-8 from the first to the last. */
bool utf8_valid(const char *bytes, size_t len);

/*
 * Characters that steer a terminal or reorder, join or hide text: a file name made of them reads as another one. U+FE0F is
 * none of them, for it makes no difference but to emoji, where people use it.
 */
bool utf8_is_deceptive(uint32_t point);

#endif
