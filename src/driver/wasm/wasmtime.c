/* The one door to wasmtime: its library is loaded when there is something to run, and never linked. */
#include "driver/wasm/wasmtime.h"

#include <dlfcn.h>
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
	char path[40];
	void *library;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		return error_set(err, ERROR_HOST, "cannot load the engine: %.200s", dlerror());
#define FIND(type, name, parameters)                                  \
	if (find(library, #name, (void *)&ret_engine->name, err) < 0) \
		return -1;
	WASMTIME_FUNCTIONS(FIND)
#undef FIND
	return 0;
}
