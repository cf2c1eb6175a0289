/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a .tsv table, for the generators that make C of one. They run on the build machine. */
#ifndef BASE_GEN_ROWS_H
#define BASE_GEN_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#define GEN_FIELDS_MAX 8

/*
 * Hands each row of the file PATH to TAKE, as COUNT fields, none of them empty; comments (#) and empty lines are skipped.
 * 0; -1 when the file cannot be read, or a row has another shape or is refused by TAKE: the place is on standard error.
 */
int gen_rows_read(const char *path, size_t count, bool (*take)(char **fields, void *cookie),
		  void *cookie);

#endif
