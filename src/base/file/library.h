/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that few calls need: loaded when one does, so that no start pays for them. */
#ifndef BASE_FILE_LIBRARY_H
#define BASE_FILE_LIBRARY_H

#include "base/core/error.h"

#include <stddef.h>

struct library_row {
	const char *name;
	size_t offset; /* of the pointer to this function */
};

struct library {
	const char *file, *package; /* libX.so.N, and the Debian package that has it */
	const struct library_row *rows;
	size_t count;
};

/* Fills the pointers of RET_FUNCTIONS, a struct of the caller's. Never unloaded: libraries keep state of their own. */
int library_load(const struct library *library, void *ret_functions, struct error *err);

#endif
