/* SPDX-License-Identifier: Apache-2.0 */
/* `ui`: prints an address of the page with a single-use token; and the process that serves the page. */
#include "app/pool/page_door.h"
#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/own_program.h"
#include "ops/page.h"
#include "ops/rows/rows.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma weak page_serve

/* What `daemon --http` hands to it. */
#define LISTEN_FD 3
#define DOOR_FD 4

static int serve(struct op_call *call, struct error *err)
{
	struct page_setup setup = { .listen_fd = LISTEN_FD,
				    .door_fd = DOOR_FD,
				    .is_welcome = page_door_is_welcome,
				    .environ = call->environ };
	struct stat st;

	/* Only the program with the library can; this one hands over. */
	if (!page_serve)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-http");
	if (fstat(LISTEN_FD, &st) < 0 || !S_ISSOCK(st.st_mode) || fstat(DOOR_FD, &st) < 0 ||
	    !S_ISSOCK(st.st_mode))
		return error_advise(err, ERROR_USAGE, "aisbx daemon --http 127.0.0.1:PORT",
				    "--serve is for a daemon, which has the sockets");
	setup.program = own_program("aisbx");
	if (!setup.program)
		return error_set(err, ERROR_HOST, "aisbx does not lie beside this program");
	int status = page_serve(&setup, err);

	free(setup.program);
	return status;
}

int op_ui_run(struct op_call *call, struct error *err)
{
	owned(free_ptr) char *address = NULL;

	if (op_want_words(call, 0, 0, err) < 0)
		return -1;
	if (op_arg_switch(call, "serve"))
		return serve(call, err);
	if (page_door_ask(&address, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "url", value_new_text(address));
	str_addf(&call->text, "%s\n", address);
	str_add(&call->notes, "open this within two minutes; it opens the page once\n");
	return 0;
}
