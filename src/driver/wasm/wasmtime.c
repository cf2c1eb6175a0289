/* SPDX-License-Identifier: Apache-2.0 */
/* The one door to wasmtime: its library is loaded when there is something to run, and never linked. */
#include "driver/wasm/wasmtime.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A data pointer becomes a function pointer as POSIX means it: by its bytes. */
static int find(void *library, const char *name, void *ret_function, struct error *err)
{
	void *found = dlsym(library, name);

	if (!found)
		return error_set(err, ERROR_HOST,
				 "the engine has no %s: it is not wasmtime " WASMTIME_VERSION
				 "; run `aisbx wasm install engine`",
				 name);
	memcpy(ret_function, &found, sizeof(found));
	return 0;
}

int wasmtime_load(int fd, struct wasmtime *ret_engine, struct error *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} symbols[] = {
#define ROW(type, name, parameters) { #name, offsetof(struct wasmtime, name) },
		WASMTIME_FUNCTIONS(ROW)
#undef ROW
	};
	char path[40];
	void *library;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return error_set(err, ERROR_HOST, "cannot load the engine: %.200s", dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (find(library, symbols[i].name, (char *)ret_engine + symbols[i].offset, err) < 0)
			return -1;
	}
	return 0;
}
