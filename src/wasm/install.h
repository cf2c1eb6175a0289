/* SPDX-License-Identifier: Apache-2.0 */
/* Placing a language's files into the caller's data folder: fetched or given, checked, whole or not at all. */
#ifndef WASM_INSTALL_H
#define WASM_INSTALL_H

#include "base/core/error.h"
#include "wasm/language.h"

/* FROM: the package or the file itself, got elsewhere; NULL: fetch it. 1 when it was placed, 0 when it was there. */
int wasm_install(const char *data_dir, const struct wasm_language *language, const char *from,
		 struct error *err);

#endif
