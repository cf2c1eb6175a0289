/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the comparison of lines: two texts parted by a NUL; the script must turn the first into the second. */
#include "base/core/own.h"
#include "workspace/text/textdiff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes lines FROM to TO of a text. */
static void take(struct str *out, const struct text *text, size_t from, size_t to)
{
	if (from > to || to > text->count)
		abort();
	/* A text of nothing may have no bytes at all to count from. */
	if (from < to)
		str_add_bytes(out, text->bytes + text->starts[from],
			      text->starts[to] - text->starts[from]);
}

static void check_script(const struct text *old, const struct text *new)
{
	owned(hunks_done) struct hunks hunks = { 0 };
	owned(str_done) struct str out = STR_INIT;
	size_t at = 0;

	textdiff(old, new, &hunks);
	for (size_t i = 0; i < hunks.count; i++) {
		const struct hunk *hunk = &hunks.items[i];

		if (hunk->count_a + hunk->count_b == 0)
			abort();
		take(&out, old, at, hunk->start_a);
		take(&out, new, hunk->start_b, hunk->start_b + hunk->count_b);
		at = hunk->start_a + hunk->count_a;
	}
	take(&out, old, at, old->count);
	if (out.len != new->len || (out.len > 0 && memcmp(out.data, new->bytes, out.len) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(text_done) struct text old = { 0 }, new = { 0 };
	owned(str_done) struct str body = STR_INIT;
	const uint8_t *middle = size > 0 ? memchr(data, 0, size) : NULL;
	size_t first = middle ? (size_t)(middle - data) : size;
	struct unified_options options = { .context = (unsigned)(first % 5) };

	text_split(&old, (const char *)data, first);
	text_split(&new, middle ? (const char *)middle + 1 : NULL, middle ? size - first - 1 : 0);
	check_script(&old, &new);
	check_script(&new, &old);
	textdiff_unified(&old, &new, &options, &body);
	bool is_equal =
		old.len == new.len && (old.len == 0 || memcmp(old.bytes, new.bytes, old.len) == 0);

	if (is_equal != (body.len == 0))
		abort();
	return 0;
}
