/* SPDX-License-Identifier: Apache-2.0 */
/* Answers into bytes: a table's columns are as wide as their widest cell. */
#include "front/cli/render.h"

#include "base/text/json_write.h"
#include "front/cli/patch_view.h"

#include <stdio.h>
#include <string.h>

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"
#define COLUMNS_MAX 16

static void add_text(struct str *out, const struct render_style *style, const char *text,
		     size_t len)
{
	if (style->terminal)
		render_safe(out, text, len, true);
	else
		str_add_bytes(out, text, len);
}

/* One value as it stands in a table; always on one line. */
static void add_cell(struct str *out, const struct value *value)
{
	struct str raw = STR_INIT;

	if (value && value->kind == VALUE_TEXT)
		str_add_bytes(&raw, value->text.bytes, value->text.len);
	else if (value && value->kind != VALUE_NULL)
		json_write(&raw, value, 0);
	render_safe(out, str_cstr(&raw), raw.len, false);
	str_done(&raw);
}

/* Columns a terminal needs for it: bytes that begin a character. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void measure(const struct op_column *columns, const struct value *rows, size_t *ret_widths)
{
	struct str cell = STR_INIT;

	for (size_t c = 0; c < COLUMNS_MAX && columns[c].key; c++) {
		ret_widths[c] = strlen(columns[c].title);
		for (size_t r = 0; r < rows->many.count; r++) {
			size_t width;

			str_clear(&cell);
			add_cell(&cell, value_get(rows->many.items[r], columns[c].key));
			width = width_of(str_cstr(&cell));
			if (width > ret_widths[c])
				ret_widths[c] = width;
		}
	}
	str_done(&cell);
}

static void pad(struct str *out, size_t used, size_t width)
{
	for (; used < width + 2; used++)
		str_add_char(out, ' ');
}

/* No spaces at the end of a line: output may be piped. */
static void end_line(struct str *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		str_truncate(out, out->len - 1);
	str_add_char(out, '\n');
}

static void add_table(const struct op_column *columns, const struct value *rows,
		      const struct render_style *style, struct str *out)
{
	size_t widths[COLUMNS_MAX] = { 0 };

	measure(columns, rows, widths);
	str_add(out, style->colour ? BOLD : "");
	for (size_t c = 0; c < COLUMNS_MAX && columns[c].key; c++) {
		str_add(out, columns[c].title);
		pad(out, strlen(columns[c].title), widths[c]);
	}
	end_line(out);
	str_add(out, style->colour ? PLAIN : "");
	for (size_t r = 0; r < rows->many.count; r++) {
		for (size_t c = 0; c < COLUMNS_MAX && columns[c].key; c++) {
			size_t start = out->len;

			add_cell(out, value_get(rows->many.items[r], columns[c].key));
			pad(out, width_of(out->data + start), widths[c]);
		}
		end_line(out);
	}
}

static void add_fields(const struct value *map, struct str *out)
{
	for (size_t i = 0; i < map->many.count; i++) {
		render_safe(out, map->many.keys[i], strlen(map->many.keys[i]), false);
		str_add(out, ": ");
		add_cell(out, map->many.items[i]);
		end_line(out);
	}
}

static void add_json(const struct value *answer, struct str *out)
{
	if (answer->kind != VALUE_LIST) {
		json_write(out, answer, 0);
		str_add_char(out, '\n');
		return;
	}
	for (size_t i = 0; i < answer->many.count; i++) {
		json_write(out, answer->many.items[i], 0);
		str_add_char(out, '\n');
	}
}

/* One object, or lines of them. */
static void add_data(const struct str *data, struct str *out)
{
	str_add_bytes(out, data->data, data->len);
	if (data->data[data->len - 1] != '\n')
		str_add_char(out, '\n');
}

static void add_words(const struct op_call *call, const struct render_style *style, struct str *out)
{
	const struct str *text = &call->text;

	if (call->is_raw)
		str_add_bytes(out, text->data, text->len);
	else if (call->is_patch)
		patch_view(out, text->data, text->len, style);
	else
		add_text(out, style, text->data, text->len);
}

void render_answer(const struct op_call *call, const struct render_style *style, struct str *out)
{
	const struct value *answer = call->answer;

	if (call->json && call->data.len > 0) {
		add_data(&call->data, out);
	} else if (call->json && answer) {
		add_json(answer, out);
	} else if (call->json) {
		return;
	} else if (call->text.len > 0) {
		add_words(call, style, out);
	} else if (answer && answer->kind == VALUE_LIST) {
		/* A verb without columns has printed its own text, if only its notes. */
		if (call->op->columns && answer->many.count > 0)
			add_table(call->op->columns, answer, style, out);
	} else if (answer && answer->kind == VALUE_MAP) {
		add_fields(answer, out);
	} else if (answer) {
		add_json(answer, out);
	}
}

void render_notes(const struct op_call *call, struct str *out)
{
	const char *at = str_cstr(&call->notes);

	while (*at) {
		size_t len = strcspn(at, "\n");

		str_add(out, "aisbx: ");
		/* Also when stderr is a file: it will be shown on a terminal, and no program parses it. */
		render_safe(out, at, len, false);
		str_add_char(out, '\n');
		at += len;
		at += *at == '\n';
	}
}

void render_error(const struct error *err, const struct render_style *style, struct str *out)
{
	str_add(out, style->colour ? RED "aisbx:" PLAIN " " : "aisbx: ");
	/* One line, whatever was quoted in it: scripts and people read it as one. */
	render_safe(out, err->text, strlen(err->text), false);
	str_add_char(out, '\n');
}

void render_error_json(const struct op *op, const struct error *err, struct str *out)
{
	struct json json;

	json_init(&json, out);
	json_open(&json, '{');
	json_key(&json, "ok");
	json_bool(&json, false);
	if (op && (op->flags & OP_RUN_CODES)) {
		bool ours = err->code == ERROR_HOST || err->code == ERROR_INTERNAL;

		json_key(&json, "status");
		json_text(&json, ours ? "internal" : "denied");
		json_key(&json, "exit_code");
		json_int(&json, error_run_exit_status(err->code));
	}
	json_key(&json, "error");
	json_open(&json, '{');
	json_key(&json, "code");
	json_text(&json, error_code_name(err->code));
	json_key(&json, "message");
	json_text(&json, err->text);
	json_key(&json, "hint");
	json_text(&json, error_hint(err));
	json_close(&json, '}');
	json_close(&json, '}');
	str_add_char(out, '\n');
}
