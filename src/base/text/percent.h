/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes of URLs: %XX. */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include <stddef.h>

/* The byte that the escape at the beginning of TEXT stands for; -1 where there is none. */
int percent_byte(const char *text, size_t len);

#endif
