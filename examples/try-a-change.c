/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a command change this directory in a sandbox, shows what it changed, and applies it only when it succeeded.
 *
 *	cc try-a-change.c -o try-a-change $(pkg-config --cflags --libs aisbx)
 *	./try-a-change sed -i s/colour/color/g README.md
 */
#include <aisbx.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Says why a call came to nothing; 0 when it came to something. Frees the result. */
static int failed(enum aisbx_error error, struct aisbx_result *result)
{
	int status = error || aisbx_result_status(result) != AISBX_SUCCESS;

	if (error)
		fprintf(stderr, "%s\n", aisbx_strerror(error));
	else if (aisbx_result_message(result))
		fprintf(stderr, "%s\n", aisbx_result_message(result));
	aisbx_result_free(result);
	return status;
}

static int show_changes(const struct aisbx_request *request, const char *name)
{
	struct aisbx_result *result = NULL;
	enum aisbx_error error = aisbx_diff(request, name, &result);

	for (size_t row = 0; !error && row < aisbx_result_rows(result); row++)
		printf("%s %s\n", aisbx_result_text(result, row, "op"),
		       aisbx_result_text(result, row, "path"));
	return failed(error, result);
}

/* In the sandbox: the command; then, out of it, what it did. */
static int change(const struct aisbx_request *request, const char *name)
{
	struct aisbx_result *result = NULL;
	enum aisbx_error error = aisbx_exec(request, name, &result);

	if (failed(error, result) || show_changes(request, name))
		return 1;
	result = NULL;
	error = aisbx_promote(request, name, NULL, &result);
	if (!error && aisbx_result_text(result, 0, "undo"))
		printf("take it back with: %s\n", aisbx_result_text(result, 0, "undo"));
	return failed(error, result);
}

static int in_sandbox(const struct aisbx_request *request, const char *name)
{
	struct aisbx_result *result = NULL;
	enum aisbx_error error = aisbx_create(request, name, &result);
	int status;

	if (failed(error, result))
		return 1;
	status = change(request, name);
	result = NULL;
	error = aisbx_remove(request, name, &result);
	return failed(error, result) || status;
}

int main(int argc, char **argv)
{
	struct aisbx_request *request = aisbx_request_new();
	char name[32];
	int status = 1;

	snprintf(name, sizeof(name), "try-%ld", (long)getpid());
	/* Only needed where aisbx was not installed together with the library. */
	if (getenv("AISBX"))
		aisbx_request_program(request, getenv("AISBX"));
	if (argc < 2)
		fprintf(stderr, "usage: try-a-change COMMAND [ARGS]\n");
	else if (aisbx_request_command(request, (const char *const *)argv + 1) == AISBX_OK)
		status = in_sandbox(request, name);
	aisbx_request_free(request);
	return status;
}
