/* SPDX-License-Identifier: Apache-2.0 */
/* `serve e2b`: sandboxes for programs that were written for E2B. */
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/loopback.h"
#include "base/process/own_program.h"
#include "base/process/process.h"
#include "ops/rows/rows.h"
#include "ops/serve.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#pragma weak e2b_serve

#define AGENT "aisbx-envd"
#define ANY_PORT "127.0.0.1:0"

/* As long as E2B's own: older libraries look at its form. */
static int make_key(struct serve_setup *setup, struct error *err)
{
	unsigned char bytes[20];
	size_t at = 4;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, ERROR_HOST, "no randomness for a key");
	memcpy(setup->key, "e2b_", at);
	for (size_t i = 0; i < sizeof(bytes); i++, at += 2)
		(void)snprintf(setup->key + at, 3, "%02x", bytes[i]);
	return 0;
}

/* Lines for a shell to eval. */
static void describe(const struct serve_setup *setup, struct str *out)
{
	char name[64];

	loopback_name(setup->listen_fd, name, sizeof(name));
	str_addf(out,
		 "export E2B_API_KEY=%s\nexport E2B_API_URL=http://%s\n"
		 "export E2B_SANDBOX_URL=http://%s\n",
		 setup->key, name, name);
}

static void report_ready(struct serve_setup *setup)
{
	(void)fd_write_all(setup->report_fd, "1", 1);
	fd_close(&setup->report_fd);
}

static void stay_quiet(struct serve_setup *setup)
{
	(void)setup;
}

/* In a process of its own; returns once that listens, or has ended. */
static int serve_detached(struct op_call *call, struct serve_setup *setup, struct error *err)
{
	owned(str_done) struct str lines = STR_INIT;
	owned(fd_close) int fd = -1;
	char byte;

	describe(setup, &lines);
	int side = child_fork_away(CHILD_WRITES, &fd, err);

	if (side == 0) {
		const int keep[] = { fd, setup->listen_fd };

		if (process_detach(keep, 2, "aisbx-e2b") < 0)
			_exit(1);
		setup->report_fd = fd_take(&fd);
		setup->is_ready = report_ready;
		_exit(e2b_serve(setup, err) < 0);
	}
	if (side < 0)
		return -1;
	if (read(fd, &byte, 1) != 1)
		return error_advise(err, ERROR_HOST, "without --detach it says why",
				    "the server has ended at once");
	str_add_bytes(&call->text, lines.data, lines.len);
	return 0;
}

static int serve(struct op_call *call, struct serve_setup *setup, struct error *err)
{
	owned(str_done) struct str lines = STR_INIT;

	if (op_arg_switch(call, "detach"))
		return serve_detached(call, setup, err);
	describe(setup, &lines);
	setup->is_ready = stay_quiet;
	/* Clients that come before the server does wait in the queue of its socket. */
	if (fd_write_all(STDOUT_FILENO, lines.data, lines.len) < 0)
		return error_errno(err, ERROR_HOST, "stdout");
	return e2b_serve(setup, err);
}

int op_serve_run(struct op_call *call, struct error *err)
{
	const char *address = op_arg_text(call, "http");
	const struct strv none = STRV_INIT, *profiles = op_arg_list(call, "profile");
	struct serve_setup setup = { .listen_fd = -1, .report_fd = -1 };
	owned(request_done) struct request request;
	owned(free_ptr) char *agent = NULL, *state_dir = NULL, *store_dir = NULL;
	char owner[ID_SHORT_SIZE];

	request_init(&request);
	if (op_want_words(call, 1, 1, err) < 0 ||
	    op_log_open(call, op_arg_switch(call, "detach"), err) < 0)
		return -1;
	if (strcmp(call->words.items[0], "e2b") != 0)
		return error_set(err, ERROR_USAGE, "serve %.64s: it is e2b", call->words.items[0]);
	/* Only the program with the library can; this one hands over. */
	if (!e2b_serve)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-http");
	agent = own_program(AGENT);
	if (!agent)
		return error_set(err, ERROR_HOST, "%s does not lie beside this program", AGENT);
	if (served_dirs(&state_dir, &store_dir, err) < 0 || op_request(call, &request, err) < 0 ||
	    make_key(&setup, err) < 0 || id_short("e2b", owner, err) < 0 ||
	    loopback_listen("--http", address ? address : ANY_PORT, &setup.listen_fd, err) < 0)
		return -1;
	if (request.flags.secret.count + request.flags.secret_env.count > 0)
		return error_advise(err, ERROR_USAGE,
				    "the program can pass one to a command as a variable",
				    "serve e2b gives no secret to a sandbox");
	setup.plan = (struct served_plan){ .request = &request,
					   .profiles = profiles ? profiles : &none,
					   .agent = agent,
					   .owner = owner,
					   .state_dir = state_dir,
					   .store_dir = store_dir };
	return serve(call, &setup, err);
}
