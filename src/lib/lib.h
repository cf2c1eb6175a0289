/* Inside libaisbx: the opaque structs, and the one way to the program. */
#ifndef LIB_LIB_H
#define LIB_LIB_H

#include "aisbx.h"
#include "base/str.h"
#include "base/value.h"

#include <stdbool.h>

struct aisbx_request {
	struct strv flags; /* as they stand on the command line: --mem=256m */
	struct strv command;
	struct str input;
	char *program;
};

struct aisbx_result {
	enum aisbx_status status;
	int exit_code;
	struct str out, err;
	bool truncated;
	char *message;
	char *json;
};

/*
 * Starts REQUEST's program with VERB --json and the request's flags and command, feeds it the input
 * and collects its stdout. The caller's signals and descriptors are as before when it returns.
 */
enum aisbx_error process_ask(const struct aisbx_request *request, const char *verb,
			     struct str *ret_answer, int *ret_exit_status);

/* Reads the answer of `run --json`. */
enum aisbx_error result_read_run(const struct str *answer, struct aisbx_result **ret_result);

/* Reads the answer of `plan --json`, which came with that exit status. */
enum aisbx_error result_read_plan(const struct str *answer, int exit_status,
				  struct aisbx_result **ret_result);

#endif
