/* SPDX-License-Identifier: Apache-2.0 */
/* `undo`: takes a promotion back. */
#include "app/change/workspace.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"

int op_undo_run(struct op_call *call, struct error *err)
{
	const char *id = call->words.count > 0 ? call->words.items[0] : NULL;
	const struct value *paths;

	if (op_want_words(call, 0, 1, err) < 0 || engine_undo(id, &call->answer, err) < 0)
		return -1;
	paths = value_get(call->answer, "paths");
	str_addf(&call->text, "took back %s; %zu path%s as before:\n",
		 value_get_text(call->answer, "promotion_id"), paths->many.count,
		 paths->many.count == 1 ? " is" : "s are");
	for (size_t i = 0; i < paths->many.count; i++) {
		const struct value *one = paths->many.items[i];

		str_add(&call->text, "  ");
		promotion_add_path(&call->text, one);
		str_add_char(&call->text, '\n');
	}
	return 0;
}
