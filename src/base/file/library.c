/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a library by its name; library_static.c takes the place of this file in a static program, which cannot. */
#include "base/file/library.h"

#include <dlfcn.h>
#include <string.h>

int library_load(const struct library *library, void *ret_functions, struct error *err)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < library->count; i++) {
		void *found = handle ? dlsym(handle, library->rows[i].name) : NULL;

		if (!found) {
			const char *why = dlerror();

			(void)error_set(err, ERROR_HOST, "%s cannot be used: %.200s", library->file,
					why ? why : library->rows[i].name);
			return error_add_hint(err, "install %s", library->package);
		}
		/* A data pointer becomes a function pointer as POSIX means it: by its bytes. */
		memcpy((char *)ret_functions + library->rows[i].offset, &found, sizeof(found));
	}
	return 0;
}
