/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a program that is linked with musl, whose own begin a string instruction for every few bytes: that is a
 * twentieth of a start. Both together, for each of musl's holds a piece of the other. Compiled so that the loops here are not
 * made into calls of what they define.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef long long block __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));
typedef uint16_t two __attribute__((aligned(1), may_alias));

/* The first and the last TYPE of it, which may share bytes; both are read before one is written. */
#define COPY_ENDS(type)                                                  \
	do {                                                             \
		type first = *(const type *)from;                        \
		type last = *(const type *)(from + size - sizeof(type)); \
                                                                         \
		*(type *)to = first;                                     \
		*(type *)(to + size - sizeof(type)) = last;              \
	} while (0)

static void copy_short(char *to, const char *from, size_t size)
{
	if (size >= sizeof(block))
		COPY_ENDS(block);
	else if (size >= sizeof(eight))
		COPY_ENDS(eight);
	else if (size >= sizeof(four))
		COPY_ENDS(four);
	else if (size >= sizeof(two))
		COPY_ENDS(two);
	else if (size == 1)
		*to = *from;
}

/* TO is before FROM, or behind all of it. The end is read first: it may be written over on the way. */
static void copy_upwards(char *to, const char *from, size_t size)
{
	block last = *(const block *)(from + size - sizeof(block));
	char *end = to + size - sizeof(block);

	for (; to < end; to += sizeof(block), from += sizeof(block))
		*(block *)to = *(const block *)from;
	*(block *)end = last;
}

static void copy_downwards(char *to, const char *from, size_t size)
{
	block first = *(const block *)from;
	char *at = to + size;

	from += size;
	while ((size_t)(at - to) > sizeof(block)) {
		at -= sizeof(block);
		from -= sizeof(block);
		*(block *)at = *(const block *)from;
	}
	*(block *)to = first;
}

void *memmove(void *to, const void *from, size_t size)
{
	if (size <= 2 * sizeof(block))
		copy_short(to, from, size);
	else if ((uintptr_t)to - (uintptr_t)from >= size)
		copy_upwards(to, from, size);
	else
		copy_downwards(to, from, size);
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
	__attribute__((alias("memmove")));
