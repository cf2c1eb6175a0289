/* The runner's parts: what it was told to run, and with what. Private to the program. */
#ifndef DRIVER_WASM_RUNNER_H
#define DRIVER_WASM_RUNNER_H

#include "driver/wasm/report.h"
#include "driver/wasm/wasmtime.h"

/* From the words it was started with. */
struct runner_job {
	uint64_t fuel;
	uint64_t memory_bytes; /* of linear memory */
	uint64_t time_ms;      /* 0: no limit */
	int hands[WASM_HAND_COUNT];
	bool has_compiled;
	bool is_compiling; /* compile, and no more */
	const char *workspace, *cwd;
	const char *library; /* "" for none */
	int argc;
	const char *const *argv;    /* of the guest */
	const char *const *environ; /* of the guest, each behind WASM_ENV_MARK */
};

struct runner {
	struct wasmtime api;
	struct runner_job job;
	wasm_engine_t *engine;
	wasmtime_module_t *module;
	wasmtime_store_t *store;
	wasmtime_context_t *context;
	wasmtime_linker_t *linker;
};

/* Gives up what the runner needs no more, for every thread it starts from now on. 0, or -1 with errno. */
int runner_seal(void);

/* The words of an error or a trap of the engine, short and on one line. */
void runner_words(const struct runner *runner, const wasmtime_error_t *error,
		  const wasm_trap_t *trap, char *words, size_t size);

/* Fills runner->module: the compiled form as it is, or compiled from the source and sent to the driver. */
enum wasm_outcome runner_open_module(struct runner *runner, char *words, size_t size);

/* Makes the store with its limits, gives it directories, streams, variables and arguments. */
int runner_prepare(struct runner *runner, struct error *err);

/* Sends a report. */
void runner_tell(const struct runner *runner, const struct wasm_report *report, const void *bytes);

#endif
