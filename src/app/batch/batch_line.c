/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a batch: read strictly, laid over the flags of the command line. */
#include "app/batch/batch_line.h"

#include "base/text/json_read.h"
#include "base/core/own.h"
#include "spec/settings_field.h"
#include "spec/settings_value.h"

#include <stdlib.h>
#include <string.h>

static const char *const line_keys[] = { "command",  "script", "stdin", "cwd",
					 "trace_id", "env",    NULL };

void batch_line_init(struct batch_line *line)
{
	memset(line, 0, sizeof(*line));
	request_init(&line->request);
}

void batch_line_done(struct batch_line *line)
{
	settings_done(&line->request.flags);
	strv_done(&line->request.command);
	free_ptr(&line->request.trace_id);
	free_ptr(&line->cwd);
	str_done(&line->input);
}

static int read_command(const struct value_reader *reader, const struct value *item,
			const char *key, struct strv *command)
{
	owned(free_ptr) char *script = NULL;

	if (command->count > 0)
		return value_reader_refuse(reader, item,
					   "a line has a script or a command, not both");
	if (key[0] == 's') {
		if (value_reader_text(reader, item, key, &script) < 0)
			return -1;
		strv_add_script(command, script);
		return 0;
	}
	if (value_reader_words(reader, item, key, command) < 0)
		return -1;
	if (command->count == 0 || !command->items[0][0])
		return value_reader_refuse(
			reader, item,
			"'command' begins with a program's name: [\"make\", \"all\"]");
	return 0;
}

/*
 * Lines are often written by whatever is to be confined. Variables are the command's own, and limits that were not set may
 * be set; all else can only be narrowed, so that no line opens what the command line left shut.
 */
static bool may_set(const struct settings *base, const struct setting_row *row)
{
	if (strcmp(row->name, "env") == 0)
		return true;
	return setting_shape(row) == SHAPE_NUMBER &&
	       settings_get_number(base, row) == SETTING_UNSET;
}

static int lay_over(const struct value_reader *reader, const struct value *item, const char *key,
		    const struct settings *base, struct settings *flags)
{
	const struct setting_row *row = setting_find(key);
	owned(settings_done) struct settings one;
	owned(strv_done) struct strv refused = STRV_INIT;

	settings_init(&one);
	if (settings_read(reader, item, key, line_keys, &one) < 0)
		return -1;
	if (may_set(base, row))
		settings_merge(flags, &one);
	else
		settings_narrow(flags, &one, &refused);
	if (refused.count == 0)
		return 0;
	error_advise(reader->err, ERROR_DENIED, "change the flags of run --batch",
		     "'%s' is beyond what the command line allows: a line can only narrow it",
		     row->name);
	return value_reader_at(reader, item);
}

static int read_key(const struct value_reader *reader, const struct value *item, const char *key,
		    const struct request *base, struct batch_line *line)
{
	if (strcmp(key, "command") == 0 || strcmp(key, "script") == 0)
		return read_command(reader, item, key, &line->request.command);
	if (strcmp(key, "trace_id") == 0)
		return item->kind == VALUE_NULL
			       ? 0
			       : value_reader_text(reader, item, key, &line->request.trace_id);
	if (strcmp(key, "cwd") == 0)
		return value_reader_text(reader, item, key, &line->cwd);
	if (strcmp(key, "stdin") != 0)
		return lay_over(reader, item, key, &base->flags, &line->request.flags);
	if (item->kind != VALUE_TEXT)
		return value_reader_refuse(reader, item, "'stdin' must be a text");
	str_add_bytes(&line->input, item->text.bytes, item->text.len);
	return 0;
}

static void take_base(const struct request *base, struct request *request)
{
	settings_done(&request->flags);
	/* Whatever else a request will ever hold is not forgotten here. */
	*request = *base;
	settings_copy(&request->flags, &base->flags);
	request->command = (struct strv)STRV_INIT;
	request->trace_id = base->trace_id ? xstrdup(base->trace_id) : NULL;
}

int batch_line_read(const char *bytes, size_t len, const struct request *base,
		    struct batch_line *line, struct error *err)
{
	const struct json_limits limits = { .bytes = BATCH_LINE_MAX,
					    .depth = BATCH_DEPTH_MAX,
					    .nul = true };
	const struct value_reader reader = { .err = err };
	owned(value_release) struct value *map = NULL;

	if (json_read(bytes, len, &limits, &map, err) < 0)
		return -1;
	if (map->kind != VALUE_MAP)
		return error_advise(
			err, ERROR_INPUT,
			"write {\"command\": [\"make\", \"all\"]} or {\"script\": \"...\"}",
			"not an object");
	take_base(base, &line->request);
	for (size_t i = 0; i < map->many.count; i++) {
		if (read_key(&reader, map->many.items[i], map->many.keys[i], base, line) < 0)
			return -1;
	}
	if (line->request.command.count == 0)
		return error_advise(err, ERROR_INPUT, "write {\"script\": \"...\"}",
				    "neither command nor script");
	return 0;
}
