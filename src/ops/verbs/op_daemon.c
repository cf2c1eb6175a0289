/* SPDX-License-Identifier: Apache-2.0 */
/* `daemon`: the process that keeps sandboxes ready; started, looked at, ended. */
#include "app/pool/daemon.h"
#include "base/units.h"
#include "ops/rows/rows.h"

#include <string.h>

static int show_status(struct op_call *call, struct error *err)
{
	return engine_daemon_status(&call->answer, err);
}

static int stop(struct op_call *call, struct error *err)
{
	bool was_there = false;

	if (engine_daemon_stop(&was_there, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "stopped", value_new_bool(was_there));
	str_add(&call->text, was_there ? "stopped\n" : "no daemon is running\n");
	return 0;
}

int op_daemon_run(struct op_call *call, struct error *err)
{
	const char *pool = op_arg_text(call, "pool");
	const char *word = call->words.count > 0 ? call->words.items[0] : NULL;
	struct daemon_request request = { 0 };
	int64_t size = 0;

	if (op_want_words(call, 0, 1, err) < 0 ||
	    (pool && units_count("--pool", pool, 1, DAEMON_POOL_MAX, &size, err) < 0))
		return -1;
	if (pool && word && strcmp(word, "start") != 0)
		return error_set(err, ERROR_USAGE, "--pool is for a daemon that is being started");
	request.pool = (unsigned)size;
	if (!word)
		return engine_daemon_serve(&request, err);
	if (strcmp(word, "status") == 0)
		return show_status(call, err);
	if (strcmp(word, "stop") == 0)
		return stop(call, err);
	if (strcmp(word, "start") != 0)
		return error_set(err, ERROR_USAGE, "daemon %s: it is start, stop or status", word);
	request.is_detached = true;
	return engine_daemon_serve(&request, err) < 0 ? -1 : show_status(call, err);
}
