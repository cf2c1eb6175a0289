/* SPDX-License-Identifier: Apache-2.0 */
/* What the guest gets: limits, the workspace under its three names, streams, variables, arguments. No network exists. */
#include "driver/wasm/wasi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ELEMENTS_MAX (4 << 20)
#define INSTANCES_MAX 1
#define TABLES_MAX 16
#define MEMORIES_MAX 1

static int set_variables(const struct runner *runner, wasi_config_t *wasi)
{
	const char *const *given = runner->job.environ;
	size_t count = 0, used = 0;

	while (given[count])
		count++;
	char **names = calloc(count + 1, sizeof(*names));
	const char **values = calloc(count + 1, sizeof(*values));

	for (size_t i = 0; names && values && i < count; i++) {
		const char *sign = strchr(given[i], '=');

		if (given[i][0] != WASM_ENV_MARK || !sign)
			continue;
		names[used] = strndup(given[i] + 1, (size_t)(sign - given[i] - 1));
		values[used++] = sign + 1;
	}
	/* The process ends with the guest: nothing is given back. */
	return names && values &&
			       runner->api.wasi_config_set_env(wasi, used,
							       (const char *const *)names, values)
		       ? 0
		       : -1;
}

static int open_directories(const struct runner *runner, wasi_config_t *wasi, struct error *err)
{
	const struct runner_job *job = &runner->job;
	const char *const rows[][2] = {
		{ job->cwd_from, "." },
		{ job->workspace_from, RUNNER_PROJECT },
		{ job->workspace_from, job->workspace },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!runner->api.wasi_config_preopen_dir(wasi, rows[i][0], rows[i][1], true))
			return error_set(err, ERROR_HOST, "cannot open %s for the module",
					 rows[i][0]);
	}
	return 0;
}

/*
 * What a language brings along, where nothing can be written to. Such a one takes relative paths to begin at the root, so
 * that is the directory it starts in.
 */
static int open_library(const struct runner *runner, wasi_config_t *wasi, struct error *err)
{
	char path[40];

	if (!runner->job.library[0])
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
		       runner->job.passed_fds[WASM_HAND_LIBRARY]);
	if (!runner->api.wasi_config_preopen_dir(wasi, path, runner->job.library, false) ||
	    !runner->api.wasi_config_preopen_dir(wasi, runner->job.cwd_from, "/", true))
		return error_set(err, ERROR_HOST, "cannot open the language's library");
	return 0;
}

static wasm_trap_t *refuse_call(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots,
				size_t count)
{
	(void)env;
	(void)caller;
	if (count > 0)
		slots[0].i32 = -1;
	return NULL;
}

/* A language with a library imports one function by which it would call tools of its host: there are none. */
static int define_call(struct runner *runner, struct error *err)
{
	const struct wasmtime *api = &runner->api;
	wasm_valtype_t *words[5];
	wasm_valtype_vec_t taken, given;

	if (!runner->job.library[0])
		return 0;
	for (size_t i = 0; i < 5; i++)
		words[i] = api->wasm_valtype_new(WASM_I32);
	api->wasm_valtype_vec_new(&taken, 4, words);
	api->wasm_valtype_vec_new(&given, 1, words + 4);
	if (api->wasmtime_linker_define_func_unchecked(runner->linker, "host", 4, "call", 4,
						       api->wasm_functype_new(&taken, &given),
						       refuse_call, NULL, NULL))
		return error_set(err, ERROR_HOST, "the engine refuses a function");
	return 0;
}

static int give_world(struct runner *runner, struct error *err)
{
	const struct wasmtime *api = &runner->api;
	wasi_config_t *wasi = api->wasi_config_new();

	api->wasi_config_inherit_stdin(wasi);
	api->wasi_config_inherit_stdout(wasi);
	api->wasi_config_inherit_stderr(wasi);
	if (!api->wasi_config_set_argv(wasi, (size_t)runner->job.argc, runner->job.argv) ||
	    set_variables(runner, wasi) < 0)
		return error_set(err, ERROR_USAGE,
				 "arguments and variables of a module must be UTF-8");
	if (open_directories(runner, wasi, err) < 0 || open_library(runner, wasi, err) < 0)
		return -1;
	if (api->wasmtime_context_set_wasi(runner->context, wasi))
		return error_set(err, ERROR_HOST, "the engine refuses its directories");
	return 0;
}

static wasm_trap_t *leave(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *slots,
			  size_t count)
{
	(void)caller;
	(void)count;
	runner_exit(env, slots[0].i32 & 0xff);
}

/* The engine takes a status from 126 on for an error; a program may end with any, as a native one. */
static int define_exit(struct runner *runner, struct error *err)
{
	static const char module[] = "wasi_snapshot_preview1", name[] = "proc_exit";
	const struct wasmtime *api = &runner->api;
	wasm_valtype_t *word = api->wasm_valtype_new(WASM_I32);
	wasm_valtype_vec_t taken, given;

	api->wasm_valtype_vec_new(&taken, 1, &word);
	api->wasm_valtype_vec_new(&given, 0, NULL);
	api->wasmtime_linker_allow_shadowing(runner->linker, true);
	if (api->wasmtime_linker_define_func_unchecked(
		    runner->linker, module, sizeof(module) - 1, name, sizeof(name) - 1,
		    api->wasm_functype_new(&taken, &given), leave, runner, NULL))
		return error_set(err, ERROR_HOST, "the engine refuses a function");
	return 0;
}

int runner_link(struct runner *runner, struct error *err)
{
	const struct wasmtime *api = &runner->api;

	runner->linker = api->wasmtime_linker_new(runner->engine);
	if (runner->job.has_own_wasi)
		return wasi_link(runner, err) < 0 ? -1 : define_call(runner, err);
	if (api->wasmtime_linker_define_wasi(runner->linker))
		return error_set(err, ERROR_HOST, "the engine has no WASI");
	return define_exit(runner, err) < 0 ? -1 : define_call(runner, err);
}

int runner_make_store(struct runner *runner, struct error *err)
{
	const struct wasmtime *api = &runner->api;

	runner->store = api->wasmtime_store_new(runner->engine, NULL, NULL);
	runner->context = api->wasmtime_store_context(runner->store);
	api->wasmtime_store_limiter(runner->store, (int64_t)runner->job.memory_bytes,
				    TABLE_ELEMENTS_MAX, INSTANCES_MAX, TABLES_MAX, MEMORIES_MAX);
	if (api->wasmtime_context_set_fuel(runner->context, runner->job.fuel))
		return error_set(err, ERROR_HOST, "the engine does not count fuel");
	api->wasmtime_context_set_epoch_deadline(runner->context, 1);
	return 0;
}

/* A run of its own: nothing comes on standard input. */
static int give_own_world(struct runner *runner, struct error *err)
{
	runner->is_booted = true;
	return runner_pick_variables(runner, err) < 0 ? -1 : wasi_open(runner, err);
}

int runner_prepare(struct runner *runner, struct error *err)
{
	if (runner_make_store(runner, err) < 0)
		return -1;
	return runner->job.has_own_wasi ? give_own_world(runner, err) : give_world(runner, err);
}
