/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a sandbox. */
#include "workspace/store/todo.h"

#include "base/core/own.h"
#include "base/core/utf8.h"
#include "workspace/disk/fields.h"
#include "workspace/store/store.h"

#include <stdlib.h>
#include <string.h>

#define KIND "aisbx-todo 1"
#define OPEN "open"
#define DONE "done"
/* A hundred steps, each byte written as two. */
#define BYTES_MAX ((size_t)TODO_STEPS_MAX * (2 * TODO_TEXT_MAX + 16))

void todo_init(struct todo *todo)
{
	todo->count = 0;
}

void todo_clear(struct todo *todo)
{
	while (todo->count > 0)
		free(todo->steps[--todo->count].text);
}

void todo_done(struct todo *todo)
{
	todo_clear(todo);
}

static bool is_line(const char *text)
{
	for (const char *at = text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	}
	return utf8_valid(text, strlen(text));
}

int todo_add(struct todo *todo, const char *text, struct error *err)
{
	size_t len = strlen(text);

	if (len == 0 || !is_line(text))
		return error_set(err, ERROR_USAGE,
				 "step %zu: a step is one line of text without control characters",
				 todo->count + 1);
	if (len > TODO_TEXT_MAX)
		return error_advise(err, ERROR_USAGE, "say it shorter, or in two steps",
				    "step %zu has %zu bytes, at most %d are kept", todo->count + 1,
				    len, TODO_TEXT_MAX);
	if (todo->count == TODO_STEPS_MAX)
		return error_advise(err, ERROR_USAGE, "begin anew with --clear or --set",
				    "more than %d steps are not kept", TODO_STEPS_MAX);
	todo->steps[todo->count++] = (struct todo_step){ .text = xstrdup(text) };
	return 0;
}

int todo_mark(struct todo *todo, int64_t number, bool is_done, struct error *err)
{
	if (number < 1 || (uint64_t)number > todo->count)
		return error_set(err, ERROR_NOT_FOUND, "there is no step %lld; the list has %zu",
				 (long long)number, todo->count);
	todo->steps[number - 1].is_done = is_done;
	return 0;
}

void todo_format(const struct todo *todo, struct str *out)
{
	fields_begin(out, KIND);
	for (size_t i = 0; i < todo->count; i++)
		fields_put(out, todo->steps[i].is_done ? DONE : OPEN, todo->steps[i].text);
	fields_end(out);
}

int todo_parse(const char *bytes, size_t len, struct todo *ret_todo, struct error *err)
{
	struct fields fields;
	int status = 0;

	todo_init(ret_todo);
	if (fields_parse(bytes, len, KIND, &fields, err) < 0)
		return -1;
	for (size_t i = 0; status == 0 && i < fields.count; i++) {
		bool is_done = strcmp(fields.items[i].key, DONE) == 0;

		if (!is_done && strcmp(fields.items[i].key, OPEN) != 0)
			continue;
		status = todo_add(ret_todo, fields.items[i].value, err);
		if (status == 0)
			ret_todo->steps[ret_todo->count - 1].is_done = is_done;
	}
	fields_done(&fields);
	if (status < 0) {
		err->code = ERROR_INPUT;
		todo_done(ret_todo);
	}
	return status;
}

int todo_read(int dir_fd, struct todo *ret_todo, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	todo_init(ret_todo);
	if (fields_read_bytes(dir_fd, TODO_FILE, BYTES_MAX, &text, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	return todo_parse(str_cstr(&text), text.len, ret_todo, err);
}

int todo_write(int dir_fd, const struct todo *todo, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	todo_format(todo, &text);
	return store_replace(dir_fd, TODO_FILE, text.data, text.len, false, err);
}
