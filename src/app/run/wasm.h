/* SPDX-License-Identifier: Apache-2.0 */
/* Languages for the wasm driver: which there are, and installing them. */
#ifndef APP_WASM_H
#define APP_WASM_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

/* List of {name, state, summary, bytes}; state is ready, installed (compiled at the next install), changed or absent. */
int app_wasm_list(struct value **ret_answer, struct error *err);

struct app_wasm_install {
	const struct strv *names;
	const char *from;	    /* a package or its file, got elsewhere; NULL: fetched */
	const char *const *environ; /* the caller's */
	void (*progress)(const char *what); /* may be NULL; NULL as WHAT ends it */
};

/*
 * Installs the engine if it is missing, then each name: files placed, compiled for this machine and run once. List of
 * {name, state}; state is placed or present. What was installed before a failure stays.
 */
int app_wasm_install(const struct app_wasm_install *how, struct value **ret_answer,
		     struct error *err);

#endif
