/* SPDX-License-Identifier: Apache-2.0 */
/* A command whose supervisor was killed: the history has its last record, or none. */
#include "app/sandbox/background.h"

#include "base/core/own.h"
#include "history/history.h"

#include <signal.h>
#include <string.h>

/* What run_result_write has and a record of the start has not. */
static void fill(struct value *result)
{
	value_set(result, "status", value_new_text(run_status_name(RUN_KILLED)));
	value_set(result, "exit_code", value_new_int(128 + SIGKILL));
	value_set(result, "signal", value_new_int(SIGKILL));
	value_set(
		result, "message",
		value_new_text("the supervisor of the command was killed, and the command with it; "
			       "what it wrote until then was kept. Start it again with aisbx exec "
			       "-d"));
}

int app_exec_lost(const char *state_dir, const char *exec_id, struct exec_result *ret_result,
		  struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *result = NULL;
	int64_t exit_code;

	if (history_open(state_dir, &history, err) < 0 ||
	    history_show(history, exec_id, &result, err) < 0)
		return -1;
	/* Without an exit code there was no end: it is over all the same. */
	if (!value_get_int(result, "exit_code", &exit_code))
		fill(result);
	str_addf(&ret_result->words, "%s, exit code %lld", value_get_text(result, "status"),
		 (long long)value_int_of(result, "exit_code"));
	json_write(&ret_result->object, result, 0);
	return 0;
}
