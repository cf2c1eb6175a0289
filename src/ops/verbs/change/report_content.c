/* SPDX-License-Identifier: Apache-2.0 */
/* What a file holds, as an answer has it. */
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/core/utf8.h"
#include "ops/rows/rows.h"

#include <string.h>

void op_report_content(struct op_call *call, const struct str *bytes, bool as_base64)
{
	owned(str_done) struct str encoded = STR_INIT;
	const char *text = str_cstr(bytes);

	as_base64 |= !utf8_valid(text, bytes->len) || strlen(text) != bytes->len;
	if (as_base64)
		base64_add(&encoded, bytes->data, bytes->len);
	value_set(call->answer, "content",
		  as_base64 ? value_new_text(str_cstr(&encoded))
			    : value_new_bytes(text, bytes->len));
	value_set(call->answer, "encoding", value_new_text(as_base64 ? "base64" : "utf-8"));
	str_add_bytes(&call->text, text, bytes->len);
}
