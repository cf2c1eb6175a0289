/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx: the calls, each of them a verb of the program. */
#include "base/core/own.h"
#include "lib/lib.h"

/* What may stand for a name: not nothing, and nothing that would be taken for a flag. */
static bool is_word(const char *word)
{
	return word && *word && *word != '-';
}

static enum aisbx_error ask_verb(const struct ask *ask, struct aisbx_result **result)
{
	owned(str_done) struct str answer = STR_INIT;
	enum aisbx_error error;
	int exit_status;

	if (!result)
		return AISBX_ERROR_ARGUMENT;
	error = process_ask(ask, &answer, &exit_status);
	return error ? error : result_read(&answer, exit_status, result);
}

/* A verb that runs a command. */
static enum aisbx_error ask_run(const struct ask *ask, struct aisbx_result **result)
{
	owned(str_done) struct str answer = STR_INIT;
	enum aisbx_error error;
	int exit_status;

	if (!result)
		return AISBX_ERROR_ARGUMENT;
	error = process_ask(ask, &answer, &exit_status);
	return error ? error : result_read_run(&answer, exit_status, result);
}

/* A verb about what is called NAME, and nothing else. */
static enum aisbx_error ask_name(const struct aisbx_request *request, const char *verb,
				 const char *name, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = verb };

	if (!is_word(name))
		return AISBX_ERROR_ARGUMENT;
	strv_add(&ask.words, name);
	return ask_verb(&ask, result);
}

enum aisbx_error aisbx_run(const struct aisbx_request *request, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "run", .is_run = true };

	if (!request)
		return AISBX_ERROR_ARGUMENT;
	ask.input = &request->input;
	strv_copy(&ask.behind, &request->command);
	return ask_run(&ask, result);
}

enum aisbx_error aisbx_plan(const struct aisbx_request *request, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "plan" };

	if (!request)
		return AISBX_ERROR_ARGUMENT;
	strv_copy(&ask.behind, &request->command);
	return ask_verb(&ask, result);
}

enum aisbx_error aisbx_create(const struct aisbx_request *request, const char *name,
			      struct aisbx_result **result)
{
	return ask_name(request, "create", name, result);
}

enum aisbx_error aisbx_exec(const struct aisbx_request *request, const char *name,
			    struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "exec", .is_run = true };

	if (!request || !is_word(name) || request->command.count == 0)
		return AISBX_ERROR_ARGUMENT;
	ask.input = &request->input;
	strv_add(&ask.words, name);
	strv_copy(&ask.behind, &request->command);
	return ask_run(&ask, result);
}

enum aisbx_error aisbx_snapshot(const struct aisbx_request *request, const char *name,
				const char *message, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "snap" };

	if (!is_word(name))
		return AISBX_ERROR_ARGUMENT;
	if (message)
		strv_addf(&ask.words, "--message=%s", message);
	strv_add(&ask.words, name);
	return ask_verb(&ask, result);
}

enum aisbx_error aisbx_rollback(const struct aisbx_request *request, const char *name,
				const char *snapshot, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "rollback" };

	if (!is_word(name) || (snapshot && !is_word(snapshot)))
		return AISBX_ERROR_ARGUMENT;
	strv_add(&ask.words, name);
	if (snapshot)
		strv_add(&ask.words, snapshot);
	return ask_verb(&ask, result);
}

enum aisbx_error aisbx_fork(const struct aisbx_request *request, const char *source,
			    const char *new_name, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "fork" };

	if (!is_word(source) || !is_word(new_name))
		return AISBX_ERROR_ARGUMENT;
	strv_add(&ask.words, source);
	strv_add(&ask.words, new_name);
	return ask_verb(&ask, result);
}

enum aisbx_error aisbx_diff(const struct aisbx_request *request, const char *name,
			    struct aisbx_result **result)
{
	return ask_name(request, "diff", name, result);
}

/* An empty list of paths: without paths on its command line the program would promote everything. */
static enum aisbx_error promote_nothing(struct aisbx_result **result)
{
	owned(str_done) struct str answer = STR_INIT;

	str_add(&answer, "{\"promotion_id\":null,\"applied\":[],\"merged\":[],\"conflicts\":[],"
			 "\"consent\":[]}\n");
	return result_read(&answer, 0, result);
}

enum aisbx_error aisbx_promote(const struct aisbx_request *request, const char *name,
			       const char *const *paths, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request, .verb = "promote" };

	if (!is_word(name) || !result)
		return AISBX_ERROR_ARGUMENT;
	if (paths && !*paths)
		return promote_nothing(result);
	strv_add(&ask.words, name);
	for (; paths && *paths; paths++)
		strv_add(&ask.behind, *paths);
	return ask_verb(&ask, result);
}

enum aisbx_error aisbx_undo(const struct aisbx_request *request, const char *promotion_id,
			    struct aisbx_result **result)
{
	return ask_name(request, "undo", promotion_id, result);
}

enum aisbx_error aisbx_remove(const struct aisbx_request *request, const char *name,
			      struct aisbx_result **result)
{
	return ask_name(request, "rm", name, result);
}

enum aisbx_error aisbx_list(const struct aisbx_request *request, struct aisbx_result **result)
{
	const struct ask ask = { .request = request, .verb = "ls" };

	return ask_verb(&ask, result);
}

/* Reading a pipe could block, and a device may have no end. */
#define FILE_ONLY                              \
	"[ ! -e \"$1\" ] || [ -f \"$1\" ] || " \
	"{ echo \"$1: not a regular file\" >&2; exit 1; }; "

/* Runs SCRIPT with the path as its only word. */
static enum aisbx_error ask_file(struct ask *ask, const char *name, const char *script,
				 const char *path, struct aisbx_result **result)
{
	if (!is_word(name) || !path || !*path)
		return AISBX_ERROR_ARGUMENT;
	ask->verb = "exec";
	ask->is_run = true;
	ask->at_top = true;
	strv_add(&ask->words, name);
	strv_add(&ask->behind, "/bin/sh");
	strv_add(&ask->behind, "-c");
	strv_add(&ask->behind, script);
	strv_add(&ask->behind, "sh");
	/* One that begins with a dash is no option. */
	strv_addf(&ask->behind, "%s%s", *path == '/' ? "" : "./", path);
	return ask_run(ask, result);
}

enum aisbx_error aisbx_read_file(const struct aisbx_request *request, const char *name,
				 const char *path, struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request };

	/* The most that the program brings back. */
	strv_add(&ask.words, "--output=1g");
	return ask_file(&ask, name, FILE_ONLY "exec cat \"$1\"", path, result);
}

enum aisbx_error aisbx_write_file(const struct aisbx_request *request, const char *name,
				  const char *path, const void *bytes, size_t len,
				  struct aisbx_result **result)
{
	owned(ask_done) struct ask ask = { .request = request };
	owned(str_done) struct str input = STR_INIT;

	if (!bytes && len > 0)
		return AISBX_ERROR_ARGUMENT;
	if (len > 0)
		str_add_bytes(&input, bytes, len);
	ask.input = &input;
	return ask_file(&ask, name, FILE_ONLY "mkdir -p \"${1%/*}/\" && exec cat > \"$1\"", path,
			result);
}
