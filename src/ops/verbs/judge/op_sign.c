/* SPDX-License-Identifier: Apache-2.0 */
/* `sign`: permits this file's content to run where signatures are required. */
#include "app/vet/sign.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

int op_sign_run(struct op_call *call, struct error *err)
{
	if (op_want_words(call, 1, 1, err) < 0 ||
	    app_sign(call->words.items[0], op_arg_text(call, "lang"), &call->answer, err) < 0)
		return -1;
	str_add(&call->text, "signed ");
	words_add_path(&call->text, call->words.items[0]);
	str_addf(&call->text, ": %s, language %s, key %s\n",
		 value_get_text(call->answer, "signature"),
		 value_get_text(call->answer, "language"), value_get_text(call->answer, "key"));
	return 0;
}
