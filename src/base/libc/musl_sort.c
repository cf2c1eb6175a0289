/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting in a program that is linked with musl, whose own leaves equals in any order. In the other programs they stay as
 * they came, and what is planned here (which mask of two comes first) must not depend on the program.
 */
#include "base/core/die.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
	size_t size;
	int (*compare)(const void *, const void *, void *);
	void *more; /* for it */
	char *room; /* for half of the items */
};

/* Two sorted parts become one; FIRST items are in the first. */
static void merge(const struct sorting *sorting, char *items, size_t first, size_t count)
{
	size_t size = sorting->size;
	const char *left = sorting->room, *left_end = left + first * size;
	const char *right = items + first * size, *end = items + count * size;

	memcpy(sorting->room, items, first * size);
	while (left < left_end) {
		const char **from = &left;

		if (right < end && sorting->compare(left, right, sorting->more) > 0)
			from = &right;
		memmove(items, *from, size);
		items += size;
		*from += size;
	}
}

static void sort(const struct sorting *sorting, char *items, size_t count)
{
	size_t first = count / 2;
	char *second = items + first * sorting->size;

	if (count < 2)
		return;
	sort(sorting, items, first);
	sort(sorting, second, count - first);
	if (sorting->compare(second - sorting->size, second, sorting->more) > 0)
		merge(sorting, items, first, count);
}

void qsort_r(void *items, size_t count, size_t size,
	     int (*compare)(const void *, const void *, void *), void *more)
{
	struct sorting sorting = { .size = size, .compare = compare, .more = more };

	if (count < 2 || size == 0)
		return;
	sorting.room = malloc(count / 2 * size);
	/* As everywhere when memory is out (base/core/str.h). */
	if (!sorting.room)
		die("out of memory");
	sort(&sorting, items, count);
	free(sorting.room);
}

/* The comparison of qsort, which is handed on where that of qsort_r has what it needs. */
struct plain {
	int (*compare)(const void *, const void *);
};

static int compare_plainly(const void *a, const void *b, void *more)
{
	const struct plain *plain = more;

	return plain->compare(a, b);
}

void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	struct plain plain = { compare };

	qsort_r(items, count, size, compare_plainly, &plain);
}
