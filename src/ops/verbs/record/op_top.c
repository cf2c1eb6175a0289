/* SPDX-License-Identifier: Apache-2.0 */
/* `top`: what runs right now, and what it uses. */
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "app/sandbox/live.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <stdint.h>
#include <time.h>

#define PAUSE_MS 1000
#define COMMAND_MAX 48
#define CLEAR_SCREEN "\033[H\033[2J"

static void add_share(struct strv *cells, const struct value *row, const char *bytes,
		      const char *percent)
{
	owned(str_done) struct str cell = STR_INIT;
	const struct value *share = value_get(row, percent);

	words_add_size(&cell, value_int_of(row, bytes));
	if (share->kind == VALUE_REAL)
		str_addf(&cell, " (%.0f %%)", share->real);
	strv_add(cells, str_cstr(&cell));
}

static void add_row(struct strv *cells, const struct value *row)
{
	owned(str_done) struct str age = STR_INIT, io = STR_INIT, command = STR_INIT;
	const struct value *warnings = value_get(row, "warnings");

	words_add_age(&age, words_moment(row, "started"));
	words_add_size(&io, value_int_of(row, "read_bytes"));
	str_add(&io, " / ");
	words_add_size(&io, value_int_of(row, "write_bytes"));
	strv_add(cells, value_get_text(row, "sandbox"));
	strv_add(cells, str_cstr(&age));
	strv_addf(cells, "%.0f %%", value_get(row, "cpu_percent")->real);
	add_share(cells, row, "memory_bytes", "memory_percent");
	strv_addf(cells, "%lld", (long long)value_int_of(row, "pids"));
	add_share(cells, row, "disk_bytes", "disk_percent");
	strv_add(cells, str_cstr(&io));
	words_add_command(&command, value_get(row, "command"), COMMAND_MAX);
	strv_add(cells, str_cstr(&command));
	strv_add(cells, warnings->many.count ? warnings->many.items[0]->text.bytes : "");
}

static void write_table(const struct value *rows, struct str *out)
{
	static const char *const titles[] = { "SANDBOX",	"SINCE",     "CPU",
					      "MEMORY",		"PROCESSES", "DISK",
					      "READ / WRITTEN", "COMMAND",   "WARNING" };
	const size_t columns = sizeof(titles) / sizeof(titles[0]);
	owned(strv_done) struct strv cells = STRV_INIT;

	if (rows->many.count == 0) {
		str_add(out, "nothing is running\n");
		return;
	}
	for (size_t i = 0; i < columns; i++)
		strv_add(&cells, titles[i]);
	for (size_t i = 0; i < rows->many.count; i++)
		add_row(&cells, rows->many.items[i]);
	words_add_table(out, &cells, columns);
}

static void write_lines(const struct value *rows, struct str *out)
{
	for (size_t i = 0; i < rows->many.count; i++) {
		json_write(out, rows->many.items[i], 0);
		str_add_char(out, '\n');
	}
}

/* One look. On a terminal the picture before is wiped away. */
static int show(struct op_call *call, const struct value *rows, bool is_live, struct error *err)
{
	if (call->json) {
		write_lines(rows, &call->data);
	} else {
		call->is_raw = is_live && call->stdout_tty;
		str_add(&call->text, call->is_raw ? CLEAR_SCREEN : "");
		write_table(rows, &call->text);
	}
	return is_live && call->pass_on ? call->pass_on(call, err) : 0;
}

static int read_count(const struct op_call *call, int64_t *ret_count, struct error *err)
{
	const char *count = op_arg_text(call, "count");

	/* On a terminal it goes on until Ctrl-C; a script gets one sample unless it asks for more. */
	*ret_count = call->stdout_tty && !call->json ? INT64_MAX : 1;
	return count ? units_count("-n", count, 1, INT64_MAX, ret_count, err) : 0;
}

int op_top_run(struct op_call *call, struct error *err)
{
	const struct timespec pause = { .tv_sec = PAUSE_MS / 1000 };
	owned(value_release) struct value *rows = NULL;
	int64_t count;

	if (op_want_words(call, 0, 0, err) < 0 || read_count(call, &count, err) < 0)
		return -1;
	for (int64_t look = 0; look < count; look++) {
		struct value *now = NULL;

		if (look > 0)
			(void)nanosleep(&pause, NULL);
		if (app_live(rows, &now, err) < 0)
			return -1;
		value_free(rows);
		rows = now;
		if (show(call, rows, count > 1, err) < 0)
			return -1;
	}
	return 0;
}
