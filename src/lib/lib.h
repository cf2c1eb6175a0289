/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libaisbx: the opaque structs, and the one way to the program. */
#ifndef LIB_LIB_H
#define LIB_LIB_H

#include "aisbx.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct aisbx_request {
	struct strv flags;     /* as they stand on the command line: --mem=256m */
	struct strv variables; /* K=V; passed by descriptor */
	int64_t limit_ms;      /* of a call, beyond the command's time */
	int64_t time_ms;       /* the command's; 0: not given */
	struct strv command;
	struct str input;
	char *program;
};

struct aisbx_result {
	enum aisbx_status status;
	int exit_code;
	struct str out, err;
	bool truncated;
	char *message, *code, *hint;
	char *json;
	struct value *rows; /* a list of maps */
};

/* The exit status is not known: the child was collected elsewhere. */
#define PROCESS_COLLECTED (-1)

/* One call of the program: VERB --json, the request's flags, WORDS, and behind -- what stands in BEHIND. */
struct ask {
	const struct aisbx_request *request; /* flags and program; NULL: neither */
	const char *verb;
	struct strv words, behind;
	const struct str *input; /* NULL: none */
	bool is_run;		 /* a command of the caller's runs, and has its own time */
	bool at_top; /* in the sandbox it starts at the workspace's top, wherever the caller stands */
};

void ask_done(struct ask *ask);

/* Pipes between us and the program. */
struct talk {
	int input_read, input_write;
	int output_read, output_write;
	int pid_fd; /* of the program; -1: the caller reaped the program before it could be opened */
	size_t fed;
	uint64_t until_ms; /* of the monotonic clock */
	bool broken, late;
};

/* Starts the program; what is written does not block. */
enum aisbx_error process_start(const struct ask *ask, struct talk *ret_talk, pid_t *ret_pid);
void talk_close(struct talk *talk);

/* How long a call with this request may take. */
int64_t request_limit_ms(const struct aisbx_request *request, bool is_run);

/* Milliseconds until the call is late, for poll(2); 0 when it is. */
int talk_left_ms(const struct talk *talk);
void talk_set_limit(struct talk *talk, int64_t limit_ms);

/*
 * Waits for the program's end, and ends it when the call is late. False when a signal ended it: its answer may be half
 * of one.
 */
bool wait_for(struct talk *talk, pid_t pid, int *ret_exit_status);

/* Blocks SIGPIPE in this thread; false when one was pending already: that is not ours to take. */
bool hold_pipe_signal(sigset_t *ret_before);
void release_pipe_signal(const sigset_t *before, bool take_back);

/*
 * Starts the program, feeds it the input and collects its stdout. The caller's signals and descriptors are as before
 * when it returns.
 */
enum aisbx_error process_ask(const struct ask *ask, struct str *ret_answer, int *ret_exit_status);

/* Reads the answer of `run --json` or `exec --json`, which came with that exit status. */
enum aisbx_error result_read_run(const struct str *answer, int exit_status,
				 struct aisbx_result **ret_result);

/* Reads the answer of any other verb, which came with that exit status. */
enum aisbx_error result_read(const struct str *answer, int exit_status,
			     struct aisbx_result **ret_result);

#endif
