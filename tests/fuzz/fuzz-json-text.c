/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes entries put into JSON that a person keeps: what can be found can be added to, and taken out again byte by byte. */
#include "app/agent/setup_edit.h"

#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct setup_row *row, const struct str *before)
{
	owned(value_release) struct value *edits = value_new_list();
	owned(str_done) struct str text = STR_INIT;
	struct error err = { 0 };

	str_add_bytes(&text, before->data, before->len);
	if (setup_put(row, "/usr/bin/aisbx", "", &text, edits, &err) < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	/* An entry like ours may be there already, in words of others: then it is not taken for ours. */
	if (memmem(before->data, before->len, "aisbx", 5))
		return;
	for (size_t i = edits->many.count; i-- > 0;) {
		if (setup_take(edits->many.items[i], &text, &err) < 0)
			abort();
	}
	if (text.len != before->len || memcmp(text.data, before->data, text.len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(str_done) struct str text = STR_INIT;

	/* Files with a null byte are refused before. */
	if (size == 0 || memchr(data, '\0', size))
		return 0;
	str_add_bytes(&text, data, size);
	for (const struct setup_row *row = setup_rows; row->agent; row++)
		check(row, &text);
	return 0;
}
