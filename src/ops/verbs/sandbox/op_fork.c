/* SPDX-License-Identifier: Apache-2.0 */
/* `fork`: a second sandbox from the present or a snapshot of another. */
#include "app/sandbox/owner.h"
#include "app/change/workspace.h"
#include "ops/rows/rows.h"

int op_fork_run(struct op_call *call, struct error *err)
{
	struct app_fork fork = { .from = NULL };

	if (op_want_words(call, 2, 2, err) < 0 || op_quiet(call, &fork.how, err) < 0 ||
	    op_ttl(call, &fork.ttl_ms, err) < 0)
		return -1;
	fork.owner = call->ceiling ? call->ceiling->owner : NULL;
	if (app_owner_has_room(fork.owner, err) < 0)
		return -1;
	fork.from = call->words.items[0];
	fork.new_name = call->words.items[1];
	if (app_fork(&fork, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%s starts where %s is\n", fork.new_name, fork.from);
	return 0;
}
