/* "Did you mean": the known name that is nearest to a misspelt one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

struct nearest {
	const char *given;
	const char *best; /* NULL while nothing is near enough to be worth saying */
	unsigned distance;
};

/* Use: nearest_init, nearest_try for each known name, then read `best` (the caller's own). */
void nearest_init(struct nearest *nearest, const char *given);
void nearest_try(struct nearest *nearest, const char *name);

/* The nearest of NULL-terminated NAMES, or NULL. */
const char *nearest_of(const char *given, const char *const *names);

#endif
