/* SPDX-License-Identifier: Apache-2.0 */
/* The list of steps that is kept with a sandbox. */
#include "app/change/todo.h"

#include "base/core/own.h"
#include "base/text/units.h"
#include "app/change/workspace_parts.h"
#include "workspace/store/todo.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

static int mark_all(struct todo *list, const struct strv *numbers, bool is_done, struct error *err)
{
	for (size_t i = 0; numbers && i < numbers->count; i++) {
		int64_t number;

		if (units_count(is_done ? "--done" : "--undone", numbers->items[i], 1,
				TODO_STEPS_MAX, &number, err) < 0 ||
		    todo_mark(list, number, is_done, err) < 0)
			return -1;
	}
	return 0;
}

static int change(const struct app_todo *todo, struct todo *list, struct error *err)
{
	if (todo->clear)
		todo_clear(list);
	for (size_t i = 0; todo->add && i < todo->add->count; i++) {
		if (todo_add(list, todo->add->items[i], err) < 0)
			return -1;
	}
	if (mark_all(list, todo->done, true, err) < 0)
		return -1;
	return mark_all(list, todo->undone, false, err);
}

static struct value *describe(const char *sandbox, const struct todo *list)
{
	struct value *answer = value_new_map(), *steps;

	value_add(answer, "sandbox", value_new_text(sandbox));
	steps = value_add(answer, "steps", value_new_list());
	for (size_t i = 0; i < list->count; i++) {
		struct value *step = value_append(steps, value_new_map());

		value_add(step, "n", value_new_int((int64_t)i + 1));
		value_add(step, "text", value_new_text(list->steps[i].text));
		value_add(step, "done", value_new_bool(list->steps[i].is_done));
	}
	return answer;
}

/* Concurrent changes are serialised; the directory itself is locked for nothing else. */
static int lock_list(int dir_fd, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int got;

	do
		got = fd < 0 ? -1 : flock(fd, LOCK_EX);
	while (got < 0 && fd >= 0 && errno == EINTR);
	if (got < 0)
		return error_errno(err, ERROR_HOST, "the lock of the steps");
	*ret_fd = fd_take(&fd);
	return 0;
}

int app_todo(const struct app_todo *todo, struct value **ret_answer, struct error *err)
{
	owned(opened_close) struct opened opened;
	owned(todo_done) struct todo list;
	owned(fd_close) int lock_fd = -1;

	opened_init(&opened);
	todo_init(&list);
	if (opened_open(&opened, todo->sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    lock_list(opened.sandbox.dir_fd, &lock_fd, err) < 0)
		return -1;
	/* A damaged list does not prevent a new one. */
	if (!todo->clear && todo_read(opened.sandbox.dir_fd, &list, err) < 0)
		return error_context(err, "the steps of %s (--clear begins anew)", todo->sandbox);
	if (change(todo, &list, err) < 0)
		return -1;
	if ((todo->clear || todo->add || todo->done || todo->undone) &&
	    todo_write(opened.sandbox.dir_fd, &list, err) < 0)
		return -1;
	*ret_answer = describe(todo->sandbox, &list);
	return 0;
}
