/* SPDX-License-Identifier: Apache-2.0 */
/* What the WebAssembly Python can import and use. */
#ifndef WASM_PYTHON_MODULES_H
#define WASM_PYTHON_MODULES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether MODULE ("json", "os.path") works there. What is not known to, does not. */
bool wasm_python_has(const char *module);

/* Whether os has no member NAME there: what is about users, other processes and terminals. */
bool wasm_python_lacks(const char *name, size_t len);

#endif
