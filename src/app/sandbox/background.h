/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands in the background: started in a named sandbox, looked at, written to, signalled.
 *
 * Each has a supervisor of its own, detached from its starter: a client of the sandbox's supervisor like any exec, with the
 * same records in the history, whose streams go to the kept log. It ends with its command; with it ends its command, by
 * the supervisor's hand. Its id is the run's.
 */
#ifndef APP_BACKGROUND_H
#define APP_BACKGROUND_H

#include "supervise/background/output.h"
#include "supervise/background/place.h"
#include "app/run/run_request.h"

/* How long one may run unless its sandbox or the request has less. */
#define BACKGROUND_TIME_MS (24ll * 3600 * 1000)
#define BACKGROUND_WAIT_MS_MAX 60000
#define BACKGROUND_INPUT_MAX ((size_t)1 << 20)

struct app_started {
	char exec_id[27];
	char started[32];
};

/*
 * Returns once the command was executed, or is known not to be. USES_DAEMON: where there is one, it waits for a place among
 * those that run, or is refused (ERROR_BUSY), and has that place until the command ends.
 */
int app_exec_start(const char *name, const struct request *request, bool uses_daemon,
		   struct app_started *ret_started, struct error *err);

struct app_poll {
	const char *exec_id;
	uint64_t out_offset, err_offset; /* bytes of each stream known already */
	uint64_t wait_ms;		 /* until there are more, or the end; 0: not at all */
	const char *input;		 /* for the command's standard input; NULL: none */
	size_t input_len;
	bool input_end; /* and no more of it */
	int signal;	/* for the command's process group; 0: none */
	bool end;	/* SIGTERM, and where that is not enough SIGKILL for all it started */
};

struct app_polled {
	char *sandbox;
	uint64_t started_ms;
	struct strv command;
	bool is_running;
	struct output output;
	size_t input_taken;
	struct exec_result result; /* once it has ended: the object of the run, without streams */
};

void app_polled_done(struct app_polled *polled);

/*
 * Input first, then the signal, then waiting, then the answer. ERROR_NOT_FOUND for an unknown one, ERROR_CONFLICT for
 * input that the command does not take. ERROR_LIBRARIES: its supervisor was killed, and only the history knows more.
 */
int app_exec_poll(const struct app_poll *poll, struct app_polled *ret_polled, struct error *err);

/* Those that run, of one sandbox (NULL: of all): list of {exec_id, sandbox, started, command}. The caller owns it. */
struct value *app_execs(const char *sandbox);

/* The history's record of one whose supervisor was killed. In the hot program: ERROR_LIBRARIES. */
int app_exec_lost(const char *state_dir, const char *exec_id, struct exec_result *ret_result,
		  struct error *err);

#endif
