/* SPDX-License-Identifier: Apache-2.0 */
/* The list of steps that is kept with a sandbox. */
#ifndef APP_TODO_H
#define APP_TODO_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>

/* Done in this order, all of it or nothing. */
struct app_todo {
	const char *sandbox;
	bool clear;
	const struct strv *add;		  /* NULL: none */
	const struct strv *done, *undone; /* numbers as words, from 1; NULL: none */
};

/* {sandbox, steps: [{n, text, done}]} as it is then. The caller owns it. */
int app_todo(const struct app_todo *todo, struct value **ret_answer, struct error *err);

#endif
