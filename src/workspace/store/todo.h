/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a sandbox: a short list for the agent or person working in it, kept beside it in sbx/NAME/todo.
 *
 * Lines of text and whether each is done, nothing more: they are shown, never run, and the file is not visible inside.
 * Snapshots and rollbacks leave the list alone; a fork begins with a copy.
 */
#ifndef WORKSPACE_TODO_H
#define WORKSPACE_TODO_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TODO_FILE "todo"
#define TODO_STEPS_MAX 100
#define TODO_TEXT_MAX 500

struct todo_step {
	char *text;
	bool is_done;
};

struct todo {
	struct todo_step steps[TODO_STEPS_MAX];
	size_t count;
};

void todo_init(struct todo *todo);
void todo_done(struct todo *todo);
void todo_clear(struct todo *todo);

/* Adds a step at the end. Refuses what is no line of text, and more than there may be. */
int todo_add(struct todo *todo, const char *text, struct error *err);
/* NUMBER counts from 1. */
int todo_mark(struct todo *todo, int64_t number, bool is_done, struct error *err);

void todo_format(const struct todo *todo, struct str *out);
int todo_parse(const char *bytes, size_t len, struct todo *ret_todo, struct error *err);

/* The list in DIR_FD, a sandbox's directory; empty when there is none. */
int todo_read(int dir_fd, struct todo *ret_todo, struct error *err);
int todo_write(int dir_fd, const struct todo *todo, struct error *err);

#endif
