/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a sandbox: bounds, marks, and what is written read again. */
#include "workspace/store/todo.h"

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static void test_add(void)
{
	owned(todo_done) struct todo todo;
	owned(str_done) struct str line = STR_INIT;
	struct error err;
	bool good = true;

	todo_init(&todo);
	tap_ok(todo_add(&todo, "", &err) < 0 && todo_add(&todo, "two\nlines", &err) < 0 &&
		       todo_add(&todo, "\x1b[31m", &err) < 0 && todo_add(&todo, "\xff", &err) < 0 &&
		       todo.count == 0,
	       "what is no line of text is refused");
	for (int i = 0; i < TODO_TEXT_MAX; i++)
		str_add_char(&line, 'x');
	tap_ok(todo_add(&todo, str_cstr(&line), &err) == 0, "500 bytes are kept");
	str_add_char(&line, 'x');
	tap_ok(todo_add(&todo, str_cstr(&line), &err) < 0 && strstr(err.text, "501"),
	       "501 are not");
	while (todo.count < TODO_STEPS_MAX)
		good &= todo_add(&todo, "step", &err) == 0;
	tap_ok(good && todo_add(&todo, "one more", &err) < 0 && strstr(err.text, "--clear"),
	       "a hundred are kept, and no more");
	tap_ok(todo_mark(&todo, 0, true, &err) < 0 && todo_mark(&todo, 101, true, &err) < 0 &&
		       err.code == ERROR_NOT_FOUND,
	       "a step that is not there");
}

static void test_file(const char *dir)
{
	owned(fd_close) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(todo_done) struct todo todo;
	struct error err;

	tap_ok(todo_read(dir_fd, &todo, &err) == 0 && todo.count == 0,
	       "without a file the list is empty");
	(void)todo_add(&todo, "back\\slash done", &err);
	(void)todo_add(&todo, "end", &err);
	(void)todo_mark(&todo, 2, true, &err);
	tap_ok(todo_write(dir_fd, &todo, &err) == 0, "a list is written");
	todo_done(&todo);
	tap_ok(todo_read(dir_fd, &todo, &err) == 0 && todo.count == 2 &&
		       strcmp(todo.steps[0].text, "back\\slash done") == 0 &&
		       !todo.steps[0].is_done && strcmp(todo.steps[1].text, "end") == 0 &&
		       todo.steps[1].is_done,
	       "and read again, whatever the words are");
	todo_done(&todo);
	tap_ok(todo_parse("aisbx-todo 1\nopen x\n", 20, &todo, &err) < 0 && err.code == ERROR_INPUT,
	       "one that was cut short is refused");
	tap_ok(todo_parse("aisbx-todo 1\nopen a\\nb\nend\n", 27, &todo, &err) < 0 &&
		       err.code == ERROR_INPUT && todo.count == 0,
	       "and so is one that we would not have written");
}

int main(void)
{
	struct scratch scratch;

	scratch_open(&scratch);
	test_add();
	test_file(scratch.dir);
	scratch_close(&scratch);
	return tap_done();
}
