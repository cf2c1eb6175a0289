/* What the WebAssembly Python can import and use. */
#ifndef WASM_PYTHON_MODULES_H
#define WASM_PYTHON_MODULES_H

#include <stdbool.h>

/* Whether MODULE ("json", "os.path") works there. What is not known to, does not. */
bool wasm_python_has(const char *module);

#endif
