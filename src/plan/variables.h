/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of variables.tsv, as gen_variables.c makes them at build time: variables of package clients that come along. */
#ifndef PLAN_VARIABLES_H
#define PLAN_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

struct plan_variable {
	const char *name;
	bool is_file; /* paths, with ':' between them; else words, with URLs among them */
};

/* In the order of their names. */
extern const struct plan_variable plan_variables[];
extern const size_t plan_variables_count;

#endif
