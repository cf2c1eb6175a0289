/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": edit distance with neighbours swapped counting as one step. */
#include "base/text/suggest.h"

#include <string.h>

/* Longer names are not worth a suggestion, and it keeps the work on hostile input bounded. */
#define NAME_MAX_LENGTH 40

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][NAME_MAX_LENGTH + 1] = { { 0 } };
	unsigned *before = rows[0], *last = rows[1], *now = rows[2];
	size_t a_len = strlen(a), b_len = strlen(b);

	for (size_t j = 0; j <= b_len; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *spare = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			now[j] = least(least(last[j], now[j - 1]) + 1,
				       last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b_len];
}

void suggest_init(struct suggest *suggest, const char *given)
{
	size_t len = strlen(given);

	/* A third of the word may be wrong; beyond that a suggestion is noise. */
	*suggest = (struct suggest){ .given = given, .distance = (unsigned)(len / 3 + 2) };
}

void suggest_try(struct suggest *suggest, const char *name)
{
	unsigned far;

	if (strlen(suggest->given) > NAME_MAX_LENGTH || strlen(name) > NAME_MAX_LENGTH)
		return;
	far = distance(suggest->given, name);
	if (far < suggest->distance) {
		suggest->distance = far;
		suggest->best = name;
	}
}

const char *suggest_of(const char *given, const char *const *names)
{
	struct suggest suggest;

	suggest_init(&suggest, given);
	for (; *names; names++)
		suggest_try(&suggest, *names);
	return suggest.best;
}

int suggest_add_hint(const char *best, struct error *err)
{
	return best ? error_add_hint(err, "did you mean '%s'?", best) : -1;
}
