/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that aborts when memory is out: a file of its own, so that analysers take its word for it. */
#include "base/core/str.h"

#include "base/core/die.h"
#include "base/core/heap.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
/* There is no page between two mappings here, but neither is one beside the heap. */
void heap_harden(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, 1024);
}
#endif

static void *or_die(void *memory)
{
	if (!memory)
		die("out of memory");
	return memory;
}

void *xmalloc(size_t size)
{
	return or_die(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return or_die(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t count, size_t size)
{
	return or_die(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return or_die(strdup(text));
}

char *xstrndup(const char *text, size_t len)
{
	return or_die(strndup(text, len));
}

char *xvasprintf(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	return or_die(text);
}

char *xasprintf(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	return text;
}
