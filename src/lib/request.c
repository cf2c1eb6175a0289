/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx: building a request. */
#include "base/text/units.h"
#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>

#define CALL_MS ((int64_t)600 * 1000)
#define COMMAND_MS ((int64_t)24 * 3600 * 1000)

/* Flags that would change what comes back, or that read files in our name. */
static const char *const reserved[] = { "json", "help", "batch", "name-status", "env-fd" };

const char *aisbx_version(void)
{
	return AISBX_VERSION;
}

const char *aisbx_strerror(enum aisbx_error error)
{
	switch (error) {
	case AISBX_OK:
		return "no error";
	case AISBX_ERROR_ARGUMENT:
		return "an argument is missing or is not one";
	case AISBX_ERROR_PROGRAM:
		return "the program aisbx could not be started";
	case AISBX_ERROR_SYSTEM:
		return "the system is out of descriptors or processes";
	case AISBX_ERROR_ANSWER:
		return "the program aisbx gave no answer that can be read";
	case AISBX_ERROR_TIME:
		return "the program aisbx took too long and was ended";
	}
	return "unknown error";
}

struct aisbx_request *aisbx_request_new(void)
{
	struct aisbx_request *request = xcalloc(1, sizeof(*request));

	request->limit_ms = CALL_MS;
	return request;
}

void aisbx_request_free(struct aisbx_request *request)
{
	if (!request)
		return;
	strv_done(&request->flags);
	strv_done(&request->variables);
	strv_done(&request->command);
	str_done(&request->input);
	free(request->program);
	free(request);
}

static bool is_flag_name(const char *name)
{
	if (!*name || *name == '-' || strspn(name, "abcdefghijklmnopqrstuvwxyz-") != strlen(name))
		return false;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (strcmp(name, reserved[i]) == 0)
			return false;
	}
	return true;
}

enum aisbx_error aisbx_request_set(struct aisbx_request *request, const char *name,
				   const char *value)
{
	struct error ignored;

	if (!request || !name || !is_flag_name(name))
		return AISBX_ERROR_ARGUMENT;
	if (value && strcmp(name, "time") == 0 &&
	    units_duration("time", value, &request->time_ms, &ignored) < 0)
		request->time_ms = 0;
	if (value && strcmp(name, "env") == 0)
		strv_add(&request->variables, value);
	else if (value)
		strv_addf(&request->flags, "--%s=%s", name, value);
	else
		strv_addf(&request->flags, "--%s", name);
	return AISBX_OK;
}

enum aisbx_error aisbx_request_command(struct aisbx_request *request, const char *const *argv)
{
	if (!request || !argv || !argv[0])
		return AISBX_ERROR_ARGUMENT;
	strv_done(&request->command);
	for (; *argv; argv++)
		strv_add(&request->command, *argv);
	return AISBX_OK;
}

enum aisbx_error aisbx_request_stdin(struct aisbx_request *request, const void *bytes, size_t len)
{
	if (!request || (!bytes && len > 0))
		return AISBX_ERROR_ARGUMENT;
	str_clear(&request->input);
	if (len > 0)
		str_add_bytes(&request->input, bytes, len);
	return AISBX_OK;
}

enum aisbx_error aisbx_request_limit(struct aisbx_request *request, unsigned long milliseconds)
{
	if (!request || milliseconds == 0 || milliseconds > INT32_MAX)
		return AISBX_ERROR_ARGUMENT;
	request->limit_ms = (int64_t)milliseconds;
	return AISBX_OK;
}

int64_t request_limit_ms(const struct aisbx_request *request, bool is_run)
{
	int64_t call_ms = request ? request->limit_ms : CALL_MS;
	int64_t command_ms = request && request->time_ms ? request->time_ms : COMMAND_MS;

	return call_ms + (is_run ? command_ms : 0);
}

enum aisbx_error aisbx_request_program(struct aisbx_request *request, const char *path)
{
	if (!request || !path || *path != '/')
		return AISBX_ERROR_ARGUMENT;
	free(request->program);
	request->program = xstrdup(path);
	return AISBX_OK;
}
