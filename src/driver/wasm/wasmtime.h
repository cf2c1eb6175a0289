/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as we use it: the functions of wasmtime's C interface that the runner calls, declared here because no
 * package of Debian has its headers. Layouts and signatures are those of version 50.0.1, which is pinned by its hash.
 */
#ifndef DRIVER_WASM_WASMTIME_H
#define DRIVER_WASM_WASMTIME_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WASMTIME_VERSION "50.0.1"

typedef struct wasm_config wasm_config_t;
typedef struct wasm_engine wasm_engine_t;
typedef struct wasm_trap wasm_trap_t;
typedef struct wasm_functype wasm_functype_t;
typedef struct wasm_valtype wasm_valtype_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct wasi_config wasi_config_t;

typedef struct {
	size_t size;
	char *data;
} wasm_byte_vec_t;

typedef struct {
	size_t size;
	wasm_valtype_t **data;
} wasm_valtype_vec_t;

typedef struct {
	uint64_t store_id;
	void *private_part;
} wasmtime_func_t;

typedef struct {
	uint64_t store_id;
	uint32_t private_parts[4];
} wasmtime_memory_t;

typedef struct {
	uint64_t store_id;
	size_t private_part;
} wasmtime_instance_t;

enum { WASMTIME_EXTERN_FUNC = 0, WASMTIME_EXTERN_MEMORY = 3 };
enum { WASMTIME_TRAP_INTERRUPT = 10, WASMTIME_TRAP_OUT_OF_FUEL = 11 };
enum { WASM_I32 = 0, WASM_I64 = 1 };

typedef struct {
	uint8_t kind;
	union {
		wasmtime_func_t func;
		wasmtime_memory_t memory;
	} of;
} wasmtime_extern_t;

/* One slot holds an argument on the way in and a result on the way out. */
typedef union {
	int32_t i32;
	int64_t i64;
	uint64_t both[2];
} wasmtime_val_raw_t;

_Static_assert(sizeof(wasmtime_func_t) == 16, "as the engine has it");
_Static_assert(sizeof(wasmtime_memory_t) == 24, "as the engine has it");
_Static_assert(sizeof(wasmtime_extern_t) == 32, "as the engine has it");
_Static_assert(sizeof(wasmtime_val_raw_t) == 16, "as the engine has it");

typedef wasm_trap_t *(*wasmtime_callback_t)(void *env, wasmtime_caller_t *caller,
					    wasmtime_val_raw_t *slots, size_t count);
typedef void (*wasmtime_finalizer_t)(void *env);

/* clang-format off */
#define WASMTIME_FUNCTIONS(F) \
	F(wasm_config_t *, wasm_config_new, (void)) \
	F(wasm_engine_t *, wasm_engine_new_with_config, (wasm_config_t *)) \
	F(void, wasmtime_config_consume_fuel_set, (wasm_config_t *, bool)) \
	F(void, wasmtime_config_epoch_interruption_set, (wasm_config_t *, bool)) \
	F(void, wasmtime_config_wasm_threads_set, (wasm_config_t *, bool)) \
	F(void, wasmtime_config_native_unwind_info_set, (wasm_config_t *, bool)) \
	F(void, wasmtime_engine_increment_epoch, (wasm_engine_t *)) \
	F(wasmtime_error_t *, wasmtime_module_new, (wasm_engine_t *, const uint8_t *, size_t, wasmtime_module_t **)) \
	F(wasmtime_error_t *, wasmtime_module_serialize, (wasmtime_module_t *, wasm_byte_vec_t *)) \
	F(wasmtime_error_t *, wasmtime_module_deserialize_file, (wasm_engine_t *, const char *, wasmtime_module_t **)) \
	F(wasmtime_store_t *, wasmtime_store_new, (wasm_engine_t *, void *, wasmtime_finalizer_t)) \
	F(wasmtime_context_t *, wasmtime_store_context, (wasmtime_store_t *)) \
	F(void, wasmtime_store_limiter, (wasmtime_store_t *, int64_t, int64_t, int64_t, int64_t, int64_t)) \
	F(wasmtime_error_t *, wasmtime_context_set_fuel, (wasmtime_context_t *, uint64_t)) \
	F(wasmtime_error_t *, wasmtime_context_get_fuel, (wasmtime_context_t *, uint64_t *)) \
	F(wasmtime_error_t *, wasmtime_context_set_wasi, (wasmtime_context_t *, wasi_config_t *)) \
	F(void, wasmtime_context_set_epoch_deadline, (wasmtime_context_t *, uint64_t)) \
	F(wasmtime_linker_t *, wasmtime_linker_new, (wasm_engine_t *)) \
	F(void, wasmtime_linker_allow_shadowing, (wasmtime_linker_t *, bool)) \
	F(wasmtime_error_t *, wasmtime_linker_define_wasi, (wasmtime_linker_t *)) \
	F(wasmtime_error_t *, wasmtime_linker_define_func_unchecked, (wasmtime_linker_t *, const char *, size_t, \
		const char *, size_t, const wasm_functype_t *, wasmtime_callback_t, void *, wasmtime_finalizer_t)) \
	F(bool, wasmtime_linker_get, (wasmtime_linker_t *, wasmtime_context_t *, const char *, size_t, \
		const char *, size_t, wasmtime_extern_t *)) \
	F(wasmtime_error_t *, wasmtime_linker_instantiate, (wasmtime_linker_t *, wasmtime_context_t *, \
		wasmtime_module_t *, wasmtime_instance_t *, wasm_trap_t **)) \
	F(bool, wasmtime_instance_export_get, (wasmtime_context_t *, const wasmtime_instance_t *, const char *, \
		size_t, wasmtime_extern_t *)) \
	F(wasmtime_error_t *, wasmtime_func_call, (wasmtime_context_t *, const wasmtime_func_t *, const void *, size_t, \
		void *, size_t, wasm_trap_t **)) \
	F(wasmtime_error_t *, wasmtime_func_call_unchecked, (wasmtime_context_t *, const wasmtime_func_t *, \
		wasmtime_val_raw_t *, size_t, wasm_trap_t **)) \
	F(bool, wasmtime_caller_export_get, (wasmtime_caller_t *, const char *, size_t, wasmtime_extern_t *)) \
	F(wasmtime_context_t *, wasmtime_caller_context, (wasmtime_caller_t *)) \
	F(uint8_t *, wasmtime_memory_data, (wasmtime_context_t *, const wasmtime_memory_t *)) \
	F(size_t, wasmtime_memory_data_size, (wasmtime_context_t *, const wasmtime_memory_t *)) \
	F(wasm_functype_t *, wasm_functype_new, (wasm_valtype_vec_t *, wasm_valtype_vec_t *)) \
	F(wasm_valtype_t *, wasm_valtype_new, (uint8_t)) \
	F(void, wasm_valtype_vec_new, (wasm_valtype_vec_t *, size_t, wasm_valtype_t *const *)) \
	F(bool, wasmtime_trap_code, (const wasm_trap_t *, uint8_t *)) \
	F(void, wasm_trap_message, (const wasm_trap_t *, wasm_byte_vec_t *)) \
	F(void, wasmtime_error_message, (const wasmtime_error_t *, wasm_byte_vec_t *)) \
	F(bool, wasmtime_error_exit_status, (const wasmtime_error_t *, int *)) \
	F(wasi_config_t *, wasi_config_new, (void)) \
	F(bool, wasi_config_set_argv, (wasi_config_t *, size_t, const char *const *)) \
	F(bool, wasi_config_set_env, (wasi_config_t *, size_t, const char *const *, const char *const *)) \
	F(void, wasi_config_inherit_stdin, (wasi_config_t *)) \
	F(void, wasi_config_inherit_stdout, (wasi_config_t *)) \
	F(void, wasi_config_inherit_stderr, (wasi_config_t *)) \
	F(bool, wasi_config_preopen_dir, (wasi_config_t *, const char *, const char *, bool))
/* clang-format on */

/* Each function under its own name. */
struct wasmtime {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): neither a type nor parameters can stand in parentheses */
#define WASMTIME_MEMBER(type, name, parameters) type(*name) parameters;
	WASMTIME_FUNCTIONS(WASMTIME_MEMBER)
#undef WASMTIME_MEMBER
};

/* Loads the library that descriptor FD is open on. What it lacks is named; nothing is ever unloaded. */
int wasmtime_load(int fd, struct wasmtime *ret_engine, struct error *err);

#endif
