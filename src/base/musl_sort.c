/*
 * Sorting in a program that is linked with musl, whose own leaves equals in any order. In the other programs they stay as
 * they came, and what is planned here (which mask of two comes first) must not depend on the program.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
	size_t size;
	int (*compare)(const void *, const void *);
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

		if (right < end && sorting->compare(left, right) > 0)
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
	if (sorting->compare(second - sorting->size, second) > 0)
		merge(sorting, items, first, count);
}

void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	struct sorting sorting = { .size = size, .compare = compare };

	if (count < 2 || size == 0)
		return;
	sorting.room = malloc(count / 2 * size);
	/* As everywhere when memory is out (base/str.h). */
	if (!sorting.room)
		__builtin_trap();
	sort(&sorting, items, count);
	free(sorting.room);
}
