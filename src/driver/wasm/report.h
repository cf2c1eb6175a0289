/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner's report to the driver, on a pipe: first, where it had to compile, the compiled module; at the end the
 * outcome. The driver trusts no more than that: nothing after the end, no compiled module after the first, and lengths
 * only up to its own bounds.
 */
#ifndef DRIVER_WASM_REPORT_H
#define DRIVER_WASM_REPORT_H

#include <stdint.h>

/* What is handed to the runner (launch/passed_fds.h), in this order. */
enum wasm_hand {
	WASM_HAND_RUNNER, /* itself */
	WASM_HAND_ENGINE,
	WASM_HAND_REPORT,  /* the pipe; of a zygote the socket to its supervisor */
	WASM_HAND_MODULE,  /* in WASM_MODE_RUN its compiled form, else the module as it came */
	WASM_HAND_LIBRARY, /* a folder; only where the argument asks for it */
	WASM_HAND_COUNT
};

/* The runner's first argument. */
#define WASM_MODE_RUN "run"
#define WASM_MODE_RUN_PYTHON "run-python" /* likewise, with our own WASI (wasi.h) */
#define WASM_MODE_COMPILE_RUN "compile-and-run"
#define WASM_MODE_COMPILE "compile"
#define WASM_MODE_SERVE "serve" /* a zygote: run what is asked for, in a fork each (zygote.h) */
#define WASM_MODE_SERVE_PYTHON "serve-python" /* likewise, with the interpreter started already */

/* The others, then "--" and the guest's own. */
enum wasm_argument {
	WASM_ARG_MODE = 1,
	WASM_ARG_FUEL,
	WASM_ARG_MEMORY,
	WASM_ARG_TIME,
	WASM_ARG_WORKSPACE,
	WASM_ARG_CWD,
	WASM_ARG_LIBRARY, /* where the guest sees the library; "" for none */
	WASM_ARG_DASHES,
	WASM_ARG_GUEST
};

/*
 * The guest's variables travel behind this mark: as they are they would steer the loader (LD_PRELOAD) and the engine of
 * the runner itself, which the guest has no say in.
 */
#define WASM_ENV_MARK '+'

enum wasm_report_kind { WASM_REPORT_COMPILED = 1, WASM_REPORT_END };

enum wasm_outcome {
	WASM_EXITED,  /* the exit status is the process's */
	WASM_TRAPPED, /* shown on standard error */
	WASM_OUT_OF_FUEL,
	WASM_OUT_OF_TIME,
	WASM_BAD_MODULE, /* the text is the reason; nothing of it ran */
	WASM_BAD_ENGINE, /* likewise */
	WASM_STALE,	 /* the compiled form is not for this machine; nothing ran */
};

/* Followed by LENGTH bytes: the module, or words. */
struct wasm_report {
	uint32_t kind;
	uint32_t outcome;
	uint64_t length;
	uint64_t fuel_consumed;
};

/* Words are short enough for one write that is not divided. */
#define WASM_REPORT_TEXT_MAX 1024
#define WASM_COMPILED_MAX (1024ULL << 20)

/* What a process dies of that traps, as a shell sees an abort. */
#define WASM_TRAP_EXIT 134

#endif
