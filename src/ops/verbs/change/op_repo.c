/* SPDX-License-Identifier: Apache-2.0 */
/* `repo commit`: a promoted change as a git commit. */
#include "base/core/own.h"
#include "app/stage/repo.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

int op_repo_run(struct op_call *call, struct error *err)
{
	const char *message = op_arg_text(call, "message");
	const struct value *skipped;
	const char *note, *branch;

	if (call->words.count != 2 || strcmp(call->words.items[0], "commit") != 0)
		return error_set(err, ERROR_USAGE, "write aisbx repo commit NAME -m TEXT");
	if (!message || !message[strspn(message, " \t\n")])
		return error_set(err, ERROR_USAGE, "a commit needs a message: -m TEXT");
	const struct app_commit commit = { .sandbox = call->words.items[1],
					   .message = message,
					   .environ = call->environ };

	if (app_repo_commit(&commit, &call->answer, err) < 0)
		return -1;
	branch = value_get_text(call->answer, "branch");
	str_addf(&call->text, "[%s %.10s] ", branch ? branch : "detached",
		 value_get_text(call->answer, "commit"));
	str_addf(&call->text, "%zu paths of promotion %s\n",
		 value_get(call->answer, "paths")->many.count,
		 value_get_text(call->answer, "promotion_id"));
	skipped = value_get(call->answer, "skipped");
	if (skipped->many.count > 0)
		str_addf(&call->notes, "%zu ignored by git, not committed\n", skipped->many.count);
	note = value_get_text(call->answer, "note");
	if (note)
		str_addf(&call->notes, "committed, but the index still has the old state: %s\n",
			 note);
	return 0;
}
