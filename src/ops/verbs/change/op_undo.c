/* SPDX-License-Identifier: Apache-2.0 */
/* `undo`: takes a promotion back. */
#include "app/change/workspace.h"
#include "base/core/own.h"
#include "ops/promotion.h"
#include "ops/rows/rows.h"

#include <string.h>

int promotion_check_digest(const struct value *list, const char *key, const char *id,
			   const char *digest, struct error *err)
{
	for (size_t i = 0; i < list->many.count; i++) {
		const char *other = value_get_text(list->many.items[i], key);
		const char *bundle = value_get_text(list->many.items[i], "bundle");

		if (other && strcmp(other, id) == 0 && bundle && strcmp(bundle, digest) == 0)
			return 0;
	}
	return error_advise(err, ERROR_CONFLICT, "look at it again: aisbx promotions",
			    "--digest: %s is not that", id);
}

/* Records never change: what has the digest now has it when it is taken back. */
static int check_digest(const struct op_call *call, const char *id, struct error *err)
{
	const char *digest = op_arg_text(call, "digest");
	owned(value_release) struct value *list = NULL;

	if (!digest)
		return 0;
	if (!id)
		return error_set(err, ERROR_USAGE, "--digest goes with an ID");
	if (app_promotions(&list, err) < 0)
		return -1;
	return promotion_check_digest(list, "promotion_id", id, digest, err);
}

int op_undo_run(struct op_call *call, struct error *err)
{
	const char *id = call->words.count > 0 ? call->words.items[0] : NULL;
	const struct value *paths;

	if (op_want_words(call, 0, 1, err) < 0 || check_digest(call, id, err) < 0 ||
	    app_undo(id, &call->answer, err) < 0)
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
