/* libaisbx: reading the program's answer and handing out its parts. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/own.h"
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

/* A stream is text, or base64 where its bytes are not UTF-8; `encoding` says which. */
static bool read_stream(const struct value *map, const char *key, const char *encoding_key,
			struct str *ret_stream)
{
	const struct value *stream = value_get(map, key);
	const char *encoding = value_get_text(map, encoding_key);

	/* Never NULL for callers, even when nothing was written. */
	str_add(ret_stream, "");
	if (!stream || stream->kind != VALUE_TEXT)
		return true;
	if (encoding && strcmp(encoding, "base64") == 0)
		return base64_read(ret_stream, stream->text.bytes, stream->text.len);
	str_add_bytes(ret_stream, stream->text.bytes, stream->text.len);
	return true;
}

static void read_message(struct aisbx_result *result, const struct value *map)
{
	const struct value *error = value_get(map, "error");
	const char *message = value_get_text(map, "message");

	if (!message && error && error->kind == VALUE_MAP)
		message = value_get_text(error, "message");
	if (message)
		result->message = xstrdup(message);
}

static struct aisbx_result *new_result(const struct str *answer)
{
	struct aisbx_result *result = xcalloc(1, sizeof(*result));

	result->json = xstrndup(str_cstr(answer), answer->len);
	for (size_t len = strlen(result->json); len > 0 && result->json[len - 1] == '\n'; len--)
		result->json[len - 1] = '\0';
	return result;
}

static struct value *read_object(const struct str *answer)
{
	const struct json_limits limits = { .bytes = ANSWER_BYTES, .nul = true };
	struct value *map = NULL;
	struct error err;

	if (json_read(str_cstr(answer), answer->len, &limits, &map, &err) < 0)
		return NULL;
	if (map->kind != VALUE_MAP) {
		value_free(map);
		return NULL;
	}
	return map;
}

enum aisbx_error result_read_run(const struct str *answer, struct aisbx_result **ret_result)
{
	owned(value_release) struct value *map = read_object(answer);
	const struct value *truncated;
	struct aisbx_result *result;
	int64_t exit_code = 125;

	if (!map || !value_get_text(map, "status"))
		return AISBX_ERROR_ANSWER;
	result = new_result(answer);
	(void)value_get_int(map, "exit_code", &exit_code);
	truncated = value_get(map, "truncated");
	result->status = status_of(value_get_text(map, "status"));
	result->exit_code = (int)exit_code;
	result->truncated = truncated && truncated->kind == VALUE_BOOL && truncated->truth;
	read_message(result, map);
	if (!read_stream(map, "stdout", "stdout_encoding", &result->out) ||
	    !read_stream(map, "stderr", "stderr_encoding", &result->err)) {
		aisbx_result_free(result);
		return AISBX_ERROR_ANSWER;
	}
	*ret_result = result;
	return AISBX_OK;
}

enum aisbx_error result_read_plan(const struct str *answer, int exit_status,
				  struct aisbx_result **ret_result)
{
	owned(value_release) struct value *map = read_object(answer);
	struct aisbx_result *result;

	if (!map)
		return AISBX_ERROR_ANSWER;
	result = new_result(answer);
	result->status = exit_status == 0 ? AISBX_SUCCESS : AISBX_DENIED;
	result->exit_code = exit_status;
	str_add(&result->out, "");
	str_add(&result->err, "");
	if (exit_status != 0)
		read_message(result, map);
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
	free(result->json);
	free(result);
}
