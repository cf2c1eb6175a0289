/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's memory: blocks of a few sizes cut from large pieces, given back all at once when the text is done. The
 * library asks for a block with nearly every letter it reads, and most of its time would go into asking. Private to
 * syntax.c.
 */
#ifndef SCAN_SYNTAX_MEMORY_H
#define SCAN_SYNTAX_MEMORY_H

#include <stddef.h>

/* From here on the calling thread's blocks count; *IS_OVER becomes 1 when they take more than MOST bytes. */
void syntax_memory_begin(size_t most, size_t *is_over);
/* Gives everything back, whether it was freed or not. */
void syntax_memory_end(void);

void *syntax_malloc(size_t size);
void *syntax_calloc(size_t count, size_t size);
void *syntax_realloc(void *old, size_t size);
void syntax_free(void *block);

#endif
