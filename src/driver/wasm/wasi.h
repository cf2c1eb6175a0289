/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WASI preview 1 of our own, for Python: its interpreters are started before they are forked.
 *
 * The engine's has threads beneath it as soon as a file is opened: threads are missing in a fork, and each call waits for
 * one of them. This one is plain calls of the kernel: one table of descriptors, which a fork takes along, and paths that
 * the kernel itself keeps beneath the directory they start at (RESOLVE_BENEATH). It is given only to the languages that we
 * know by their hash; beneath it stands the same sandbox.
 */
#ifndef DRIVER_WASM_WASI_H
#define DRIVER_WASM_WASI_H

#include "driver/wasm/runner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wasi_errno {
	WASI_SUCCESS = 0,
	WASI_BADF = 8,
	WASI_FAULT = 21,
	WASI_INVAL = 28,
	WASI_IO = 29,
	WASI_MFILE = 33,
	WASI_NAMETOOLONG = 37,
	WASI_NOENT = 44,
	WASI_NOTDIR = 54,
	WASI_NOTSOCK = 57,
	WASI_NOTSUP = 58,
	WASI_XDEV = 75,
	WASI_NOTCAPABLE = 76,
};

/* One call of the guest's: its words, and its memory as it is now. */
struct wasi_call {
	struct runner *runner;
	const wasmtime_val_raw_t *slots;
	uint8_t *memory;
	size_t size;
};

/* A function of the interface: its name, its parameters ('i': 32 bits, 'I': 64), what it does. */
struct wasi_function {
	const char *name, *parameters;
	uint32_t (*call)(struct wasi_call *call);
};

/* Each ended by a row without a name. */
extern const struct wasi_function wasi_file_functions[];    /* wasi_file.c */
extern const struct wasi_function wasi_path_functions[];    /* wasi_path.c */
extern const struct wasi_function wasi_process_functions[]; /* wasi_process.c */

/* LEN bytes of the guest's memory; NULL where they are not all in it. */
uint8_t *wasi_bytes(const struct wasi_call *call, uint32_t at, uint32_t len);
uint32_t wasi_word(const struct wasi_call *call, size_t slot);
uint64_t wasi_long(const struct wasi_call *call, size_t slot);
/* WASI_SUCCESS, or WASI_FAULT. */
uint32_t wasi_store32(const struct wasi_call *call, uint32_t at, uint32_t value);
uint32_t wasi_store64(const struct wasi_call *call, uint32_t at, uint64_t value);

/* What errno is called there; and that, or success, for what a call of the kernel returned. */
uint32_t wasi_error(void);
uint32_t wasi_errno(int status);

/* The host's descriptor of the guest's, or -1. */
int wasi_host(const struct wasi_call *call, uint32_t fd);
/* Gives HOST, which is taken, a number; -1 where there is none left. */
int wasi_number(struct runner *runner, int host);

struct timespec;
uint64_t wasi_nanoseconds(const struct timespec *time);

/* Fills a file's record at AT. */
struct stat;
uint32_t wasi_store_stat(const struct wasi_call *call, uint32_t at, const struct stat *st);
uint8_t wasi_type(unsigned mode);
/* Times to set, from FLAGS and two words of 64 bits behind SLOT. */
int wasi_times(const struct wasi_call *call, size_t slot, uint32_t flags,
	       struct timespec ret_times[2]);

/* Links all of it, in place of the engine's. */
int wasi_link(struct runner *runner, struct error *err);
/* Opens streams and directories; those of a zygote are empty until wasi_replace. */
int wasi_open(struct runner *runner, struct error *err);
/* In a fork: the directories become those that the job names by now, under the numbers they have. 0, or -1 with errno. */
int wasi_replace(struct runner *runner);

#endif
