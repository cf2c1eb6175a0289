/* SPDX-License-Identifier: Apache-2.0 */
/* `version`: which aisbx this is. */
#include "app/config/reads_yaml.h"
#include "ops/rows/rows.h"

int op_version_run(struct op_call *call, struct error *err)
{
	if (op_want_words(call, 0, 0, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_set(call->answer, "version", value_new_text(AISBX_VERSION));
	value_set(call->answer, "libraries", value_new_bool(app_reads_yaml));
	str_add(&call->text, "aisbx " AISBX_VERSION "\n");
	return 0;
}
