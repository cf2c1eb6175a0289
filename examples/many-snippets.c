/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs each argument as Python in WebAssembly, one after the other in one session: the interpreter is started once, and
 * each snippet is a fork of it that sees nothing of the others.
 *
 *	cc many-snippets.c -o many-snippets $(pkg-config --cflags --libs aisbx)
 *	./many-snippets 'x = 1; print(x)' 'print(x)'
 */
#include <aisbx.h>

#include <stdio.h>
#include <stdlib.h>

static enum aisbx_error run(struct aisbx_session *session, const char *code)
{
	const char *const command[] = { "python", "-c", code, NULL };
	struct aisbx_request *request = aisbx_request_new();
	struct aisbx_result *result = NULL;
	enum aisbx_error error;

	aisbx_request_command(request, command);
	error = aisbx_session_run(session, request, &result);
	if (error) {
		fprintf(stderr, "%s\n", aisbx_strerror(error));
	} else if (aisbx_result_message(result)) {
		fprintf(stderr, "not run: %s\n", aisbx_result_message(result));
	} else {
		fputs(aisbx_result_stdout(result, NULL), stdout);
		fputs(aisbx_result_stderr(result, NULL), stderr);
	}
	aisbx_result_free(result);
	aisbx_request_free(request);
	return error;
}

int main(int argc, char **argv)
{
	struct aisbx_request *request = aisbx_request_new();
	struct aisbx_session *session = NULL;
	enum aisbx_error error;

	/* Only needed where aisbx was not installed together with the library. */
	if (getenv("AISBX"))
		aisbx_request_program(request, getenv("AISBX"));
	aisbx_request_set(request, "driver", "wasm");
	aisbx_request_set(request, "time", "10s");
	error = aisbx_session_open(request, &session);
	for (int i = 1; !error && i < argc; i++)
		error = run(session, argv[i]);
	aisbx_session_close(session);
	aisbx_request_free(request);
	return error ? 1 : 0;
}
