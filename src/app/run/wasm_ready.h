/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling a language of the wasm driver, apart from the run that needs it. */
#ifndef APP_WASM_READY_H
#define APP_WASM_READY_H

#include "base/core/error.h"
#include "spec/spec.h"
#include "wasm/language.h"

/*
 * Runs LANGUAGE once in a process of its own, with more memory and time than a snippet gets: the first run compiles it.
 * PROGRESS (may be NULL) gets a line now and then.
 */
int wasm_compile(const struct wasm_language *language, const char *const *env,
		 void (*progress)(const char *what), struct error *err);

/*
 * For a spec whose command is a language that is installed and not compiled (the cache was emptied, tampered with, or
 * comes from another machine): compiles it, with a line in NOTES. Everything else is left to the driver.
 */
int wasm_make_ready(const struct spec *spec, const char *const *env, struct strv *notes,
		    struct error *err);

#endif
