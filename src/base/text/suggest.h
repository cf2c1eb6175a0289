/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the known name that is nearest to a misspelt one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/core/error.h"

struct suggest {
	const char *given;
	const char *best; /* NULL while nothing is near enough to be worth saying */
	unsigned distance;
};

/* Use: suggest_init, suggest_try for each known name, then read `best` (the caller's own). */
void suggest_init(struct suggest *suggest, const char *given);
void suggest_try(struct suggest *suggest, const char *name);

/* The nearest of NULL-terminated NAMES, or NULL. */
const char *suggest_of(const char *given, const char *const *names);

/* Adds the nearest name to ERR as its hint, where there is one; returns -1. */
int suggest_add_hint(const char *best, struct error *err);

#endif
