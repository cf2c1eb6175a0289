/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of variables.tsv, as gen_variables.c makes them at build time: variables of package clients that come along. */
#ifndef PLAN_VARIABLES_H
#define PLAN_VARIABLES_H

#include <stddef.h>

enum plan_variable_kind {
	VARIABLE_WORDS,	       /* with URLs among them */
	VARIABLE_FILES,	       /* paths, with ':' between them */
	VARIABLE_CERTIFICATES, /* the same, but a file of HOME is shown with its certificates alone */
};

struct plan_variable {
	const char *name;
	enum plan_variable_kind kind;
};

/* In the order of their names. */
extern const struct plan_variable plan_variables[];
extern const size_t plan_variables_count;

/* The row of PAIR, "NAME=VALUE"; NULL where there is none, or no value. */
const struct plan_variable *plan_variable_find(const char *pair);

#endif
