/* SPDX-License-Identifier: Apache-2.0 */
/* From a command's first word to what the runner needs: the engine, a module, its compiled form where there is one. */
#ifndef WASM_MODULE_H
#define WASM_MODULE_H

#include "wasm/cache.h"
#include "wasm/language.h"

struct wasm_module {
	const struct wasm_language *language; /* NULL: a module of its own */
	struct sealed engine;
	struct sealed source; /* of a language */
	int copy_fd; /* of a module: a sealed copy in memory, made only where it must be compiled; or -1 */
	bool has_compiled;
	struct sealed compiled;
	bool was_changed; /* its compiled form had been tampered with, and was removed */
	char key[SHA256_HEX_SIZE];
};

#define WASM_MODULE_INIT                                                       \
	{                                                                      \
		NULL, SEALED_INIT, SEALED_INIT, -1, false, SEALED_INIT, false, \
		{                                                              \
			0                                                      \
		}                                                              \
	}

struct wasm_places {
	const char *data_dir, *cache_dir;
	const char *cwd; /* that a relative path starts at */
};

/* Modules larger than that are refused. */
#define WASM_MODULE_MAX ((uint64_t)256 << 20)

/* Whether the file of a part is there and what it must be. 1, 0 or -1 as sealed_look. */
int wasm_part_look(const char *data_dir, const struct wasm_language *language, size_t part,
		   struct sealed *ret, struct error *err);

/*
 * WORD is a language's name, or a path that has a slash or ends in .wasm. Refuses with the way to get what is missing:
 * ERROR_EXEC_NOT_FOUND for what does not exist, ERROR_EXEC_REFUSED for what is no module.
 */
int wasm_module_find(const struct wasm_places *places, const char *word,
		     struct wasm_module *ret_module, struct error *err);

void wasm_module_done(struct wasm_module *module);

#endif
