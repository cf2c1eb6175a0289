/* `gc`: housekeeping after runs that were killed. */
#include "ops/rows.h"

int op_gc_run(struct op_call *call, struct error *err)
{
	if (engine_gc(&call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing was left behind\n");
	return 0;
}
