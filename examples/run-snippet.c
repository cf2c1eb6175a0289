/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a snippet of Python that nobody has read, with 128 MiB, ten seconds and no network.
 *
 *	cc run-snippet.c -o run-snippet $(pkg-config --cflags --libs aisbx)
 *	./run-snippet 'print(6 * 7)'
 */
#include <aisbx.h>

#include <stdio.h>
#include <stdlib.h>

static int report(const struct aisbx_result *result)
{
	const char *message = aisbx_result_message(result);
	size_t len;
	const char *out = aisbx_result_stdout(result, &len);

	if (message) {
		fprintf(stderr, "not run: %s\n", message);
		return 1;
	}
	fwrite(out, 1, len, stdout);
	fprintf(stderr, "exit code %d; everything it wrote to disk is gone\n",
		aisbx_result_exit_code(result));
	return aisbx_result_status(result) == AISBX_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *const command[] = { "python3", "-c", argc > 1 ? argv[1] : "print(6 * 7)",
					NULL };
	struct aisbx_request *request = aisbx_request_new();
	struct aisbx_result *result = NULL;
	enum aisbx_error error;
	int status = 1;

	/* Only needed where aisbx was not installed together with the library. */
	if (getenv("AISBX"))
		aisbx_request_program(request, getenv("AISBX"));
	aisbx_request_set(request, "mem", "128m");
	aisbx_request_set(request, "time", "10s");
	aisbx_request_set(request, "no-net", NULL);
	aisbx_request_command(request, command);
	error = aisbx_run(request, &result);
	if (error)
		fprintf(stderr, "%s\n", aisbx_strerror(error));
	else
		status = report(result);
	aisbx_result_free(result);
	aisbx_request_free(request);
	return status;
}
