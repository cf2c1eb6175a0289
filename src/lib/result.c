/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx: reading the program's answer and handing out its parts. */
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>

/* The answer holds two streams of up to --output bytes each, written with escapes. */
#define ANSWER_BYTES ((size_t)1 << 30)

static const struct {
	const char *name;
	enum aisbx_status status;
} status_names[] = {
	{ "success", AISBX_SUCCESS }, { "error", AISBX_FAILURE },     { "timeout", AISBX_TIMEOUT },
	{ "oom", AISBX_OOM },	      { "killed", AISBX_KILLED },     { "limit", AISBX_LIMIT },
	{ "denied", AISBX_DENIED },   { "internal", AISBX_INTERNAL },
};

static enum aisbx_status status_of(const char *name)
{
	for (size_t i = 0; name && i < sizeof(status_names) / sizeof(status_names[0]); i++) {
		if (strcmp(status_names[i].name, name) == 0)
			return status_names[i].status;
	}
	return AISBX_INTERNAL;
}

/* A stream is text, or base64 where its bytes are not UTF-8; `encoding` is which. */
static bool read_stream(const struct value *map, const char *key, const char *encoding_key,
			struct str *ret_stream)
{
	const struct value *stream = value_get(map, key);
	const char *encoding = value_get_text(map, encoding_key);

	if (!stream || stream->kind != VALUE_TEXT)
		return true;
	if (encoding && strcmp(encoding, "base64") == 0)
		return base64_read(ret_stream, stream->text.bytes, stream->text.len);
	str_add_bytes(ret_stream, stream->text.bytes, stream->text.len);
	return true;
}

static char *copy_text(const struct value *map, const char *key)
{
	const char *text = value_get_text(map, key);

	return text ? xstrdup(text) : NULL;
}

/* Why it was refused, where it was. */
static void read_error(struct aisbx_result *result, const struct value *map)
{
	const struct value *error = value_get(map, "error");

	result->message = copy_text(map, "message");
	if (!error || error->kind != VALUE_MAP)
		return;
	free(result->message);
	result->message = copy_text(error, "message");
	result->code = copy_text(error, "code");
	result->hint = copy_text(error, "hint");
}

static struct aisbx_result *new_result(const struct str *answer)
{
	struct aisbx_result *result = xcalloc(1, sizeof(*result));

	result->json = xstrndup(str_cstr(answer), answer->len);
	for (size_t len = strlen(result->json); len > 0 && result->json[len - 1] == '\n'; len--)
		result->json[len - 1] = '\0';
	result->rows = value_new_list();
	/* Never NULL for callers, even when nothing was written. */
	str_add(&result->out, "");
	str_add(&result->err, "");
	return result;
}

static struct value *read_object(const char *bytes, size_t len)
{
	const struct json_limits limits = { .bytes = ANSWER_BYTES, .nul = true };
	struct value *map = NULL;
	struct error err;

	if (json_read(bytes, len, &limits, &map, &err) < 0)
		return NULL;
	if (map->kind != VALUE_MAP) {
		value_free(map);
		return NULL;
	}
	return map;
}

enum aisbx_error result_read_run(const struct str *answer, int exit_status,
				 struct aisbx_result **ret_result)
{
	struct value *map = read_object(str_cstr(answer), answer->len);
	struct aisbx_result *result;
	int64_t exit_code = 125;

	/* A result that reports success contradicts a failing exit status: it is not trusted. */
	if (!map || !value_get_text(map, "status") ||
	    (exit_status > 0 && status_of(value_get_text(map, "status")) == AISBX_SUCCESS)) {
		value_free(map);
		return AISBX_ERROR_ANSWER;
	}
	result = new_result(answer);
	value_append(result->rows, map);
	(void)value_get_int(map, "exit_code", &exit_code);
	result->status = status_of(value_get_text(map, "status"));
	result->exit_code = (int)exit_code;
	result->truncated = value_is_true(map, "truncated");
	read_error(result, map);
	if (!read_stream(map, "stdout", "stdout_encoding", &result->out) ||
	    !read_stream(map, "stderr", "stderr_encoding", &result->err)) {
		aisbx_result_free(result);
		return AISBX_ERROR_ANSWER;
	}
	*ret_result = result;
	return AISBX_OK;
}

/* One object a line. */
static bool read_rows(struct aisbx_result *result)
{
	for (const char *line = result->json; *line;) {
		size_t len = strcspn(line, "\n");
		struct value *map = read_object(line, len);

		if (!map)
			return false;
		value_append(result->rows, map);
		if (!result->code)
			read_error(result, map);
		line += len + (line[len] == '\n');
	}
	return true;
}

/* What the program itself failed at, and what it refused. */
static enum aisbx_status status_of_code(const char *code)
{
	bool is_own = strcmp(code, "internal") == 0 || strcmp(code, "host") == 0;

	return is_own ? AISBX_INTERNAL : AISBX_DENIED;
}

enum aisbx_error result_read(const struct str *answer, int exit_status,
			     struct aisbx_result **ret_result)
{
	struct aisbx_result *result = new_result(answer);

	/* A list may be incomplete unless the program exited with 0. */
	if (!read_rows(result) || (result->rows->many.count != 1 && exit_status != 0)) {
		aisbx_result_free(result);
		return AISBX_ERROR_ANSWER;
	}
	result->exit_code = exit_status == PROCESS_COLLECTED ? 0 : exit_status;
	if (result->code)
		result->status = status_of_code(result->code);
	else
		result->status = result->exit_code == 0 ? AISBX_SUCCESS : AISBX_FAILURE;
	*ret_result = result;
	return AISBX_OK;
}

enum aisbx_status aisbx_result_status(const struct aisbx_result *result)
{
	return result->status;
}

int aisbx_result_exit_code(const struct aisbx_result *result)
{
	return result->exit_code;
}

static const char *hand_out(const struct str *stream, size_t *len)
{
	if (len)
		*len = stream->len;
	return str_cstr(stream);
}

const char *aisbx_result_stdout(const struct aisbx_result *result, size_t *len)
{
	return hand_out(&result->out, len);
}

const char *aisbx_result_stderr(const struct aisbx_result *result, size_t *len)
{
	return hand_out(&result->err, len);
}

int aisbx_result_truncated(const struct aisbx_result *result)
{
	return result->truncated;
}

const char *aisbx_result_message(const struct aisbx_result *result)
{
	return result->message;
}

const char *aisbx_result_code(const struct aisbx_result *result)
{
	return result->code;
}

const char *aisbx_result_hint(const struct aisbx_result *result)
{
	return result->hint;
}

size_t aisbx_result_rows(const struct aisbx_result *result)
{
	return result->rows->many.count;
}

static const struct value *row_of(const struct aisbx_result *result, size_t row)
{
	return row < result->rows->many.count ? result->rows->many.items[row] : NULL;
}

const char *aisbx_result_text(const struct aisbx_result *result, size_t row, const char *key)
{
	const struct value *map = row_of(result, row);

	return map && key ? value_get_text(map, key) : NULL;
}

double aisbx_result_number(const struct aisbx_result *result, size_t row, const char *key)
{
	const struct value *map = row_of(result, row);
	const struct value *number = map && key ? value_get(map, key) : NULL;

	if (number && number->kind == VALUE_INT)
		return (double)number->integer;
	return number && number->kind == VALUE_REAL ? number->real : 0;
}

const char *aisbx_result_json(const struct aisbx_result *result)
{
	return result->json;
}

void aisbx_result_free(struct aisbx_result *result)
{
	if (!result)
		return;
	str_done(&result->out);
	str_done(&result->err);
	free(result->message);
	free(result->code);
	free(result->hint);
	free(result->json);
	value_free(result->rows);
	free(result);
}
