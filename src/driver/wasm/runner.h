/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's parts: what to run, and with what. Private to the program. */
#ifndef DRIVER_WASM_RUNNER_H
#define DRIVER_WASM_RUNNER_H

#include "base/core/str.h"
#include "driver/wasm/report.h"
#include "driver/wasm/wasmtime.h"

#include <sys/types.h>

/* From the words it was started with. */
struct runner_job {
	uint64_t fuel;
	uint64_t memory_bytes; /* of linear memory */
	uint64_t time_ms;      /* 0: no limit */
	int passed_fds[WASM_HAND_COUNT];
	bool has_compiled;
	bool is_compiling;		       /* compile, and no more */
	bool is_zygote;			       /* runs come later, one fork each */
	bool is_python;			       /* that starts the interpreter before they come */
	bool has_own_wasi;		       /* ours, not the engine's: a language we know */
	const char *workspace, *cwd;	       /* as the guest knows them */
	const char *workspace_from, *cwd_from; /* where they are */
	const char *library;		       /* "" for none */
	int argc;
	const char *const *argv;    /* of the guest */
	const char *const *environ; /* of the guest, each behind WASM_ENV_MARK */
};

#define RUNNER_PROJECT "/mnt/project"

/* Of a started interpreter (wasi.h): a descriptor of the guest's. */
#define RUNNER_FILES_MAX 1024
#define RUNNER_FUNCTIONS_MAX 64
#define RUNNER_FUEL_OF_START 100000000000ull

enum runner_place { PLACE_NONE, PLACE_CWD, PLACE_WORKSPACE, PLACE_LIBRARY };

struct runner_file {
	int host;	  /* -1: the number is free */
	const char *name; /* of a directory that was opened for the guest, else NULL */
	enum runner_place place;
};

struct runner;
struct wasi_function;

struct runner_binding {
	struct runner *runner;
	const struct wasi_function *function;
};

struct runner {
	struct wasmtime api;
	struct runner_job job;
	wasm_engine_t *engine;
	wasmtime_module_t *module;
	wasmtime_store_t *store;
	wasmtime_context_t *context;
	wasmtime_linker_t *linker;
	/* Of a started interpreter. */
	bool is_started;
	uint64_t fuel_of_start;
	struct runner_file files[RUNNER_FILES_MAX];
	struct runner_binding bindings[RUNNER_FUNCTIONS_MAX];
	size_t binding_count;
	const char **variables; /* of the guest, each behind WASM_ENV_MARK */
	struct str boot;	/* the parameters of its run */
	size_t boot_at;
	bool is_booted; /* they have arrived in full */
};

/* Gives up what the runner needs no more, for every thread it starts from now on. 0, or -1 with errno. */
int runner_lockdown(void);

/* The words of an error or a trap of the engine, short and on one line. */
void runner_words(const struct runner *runner, const wasmtime_error_t *error,
		  const wasm_trap_t *trap, char *words, size_t size);

/* Fills runner->module: the compiled form as it is, or compiled from the source and sent to the driver. */
enum wasm_outcome runner_open_module(struct runner *runner, char *words, size_t size);

/* What guests can call. */
int runner_link(struct runner *runner, struct error *err);

/* Makes the store with its limits. */
int runner_make_store(struct runner *runner, struct error *err);

/* That, and gives it directories, streams, variables and arguments. */
int runner_prepare(struct runner *runner, struct error *err);

/* Those of our own environment that are meant for the guest, for our own WASI. */
int runner_pick_variables(struct runner *runner, struct error *err);

/* As runner_lockdown, for the fork that becomes a run: it can start no process and reach none beside it. */
int runner_lockdown_run(void);

/* Its files are those of its view, and what its language brings along (-1: nothing). 0, or -1 with errno. */
int runner_lock_files(int workspace_fd, int library_fd);

/*
 * A zygote's life: reports that it is ready, and forks for each run that is requested. Returns in the children only, as
 * the run; -1 where it cannot be one.
 */
int runner_serve(struct runner *runner);

/*
 * Python as a zygote: it is started with a script of ours, which waits for its run in a read from standard input. In
 * place of runner_prepare; run the guest then.
 */
int runner_python(struct runner *runner, struct error *err);

/* What that read gives: in the zygote it returns in a fork only. */
ssize_t runner_boot(struct runner *runner, void *to, size_t len);

/* The guest has ended by itself. */
_Noreturn void runner_exit(struct runner *runner, int status);

/* In the fork: the directories that a started interpreter has open become the run's, its fuel what is left of it. */
int runner_replace(struct runner *runner);

/* From now on the guest's time runs. */
void runner_start_clock(const struct runner *runner);

/* Sends a report. */
void runner_send(const struct runner *runner, const struct wasm_report *report, const void *bytes);

#endif
