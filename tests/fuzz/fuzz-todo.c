/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the file of a sandbox's steps: what is read is written the same way again. */
#include "workspace/store/todo.h"

#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(todo_done) struct todo todo, again;
	owned(str_done) struct str text = STR_INIT;
	struct error err;

	todo_init(&again);
	if (todo_parse((const char *)data, size, &todo, &err) < 0)
		return 0;
	todo_format(&todo, &text);
	if (todo_parse(str_cstr(&text), text.len, &again, &err) < 0 || again.count != todo.count)
		abort();
	for (size_t i = 0; i < todo.count; i++) {
		if (strcmp(todo.steps[i].text, again.steps[i].text) != 0 ||
		    todo.steps[i].is_done != again.steps[i].is_done)
			abort();
	}
	return 0;
}
