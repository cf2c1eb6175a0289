/* SPDX-License-Identifier: Apache-2.0 */
/* One file out of a package, by its exact name. */
#ifndef WASM_UNPACK_H
#define WASM_UNPACK_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdint.h>

/*
 * Writes the file MEMBER of the package that PACKAGE_FD holds to TO_FD; it must have BYTES bytes. No name in the package is
 * ever used as a path.
 */
int wasm_unpack(int package_fd, const char *member, uint64_t bytes, int to_fd, struct error *err);

/* The same for a text of at most LIMIT bytes, which is appended to TEXT. */
int wasm_unpack_text(int package_fd, const char *member, size_t limit, struct str *text,
		     struct error *err);

#endif
