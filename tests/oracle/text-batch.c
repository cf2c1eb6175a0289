/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares and merges many texts in one process, for the tests that hold the outcome against other programs.
 *
 * Records on stdin, answers on stdout; a text is its length (8 bytes, as the machine has it) and its bytes.
 *   text-batch merge   base, ours, theirs   ->   number of conflicts (8 bytes), merged text
 *   text-batch diff    old, new             ->   unified body
 */
#include "base/core/own.h"
#include "workspace/text/merge.h"
#include "workspace/text/textdiff.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool read_text(struct str *out)
{
	uint64_t len;

	if (fread(&len, sizeof(len), 1, stdin) != 1)
		return false;
	str_clear(out);
	owned(free_ptr) char *bytes = xmalloc(len);

	if (fread(bytes, 1, len, stdin) != len)
		return false;
	str_add_bytes(out, bytes, len);
	return true;
}

static void write_number(uint64_t number)
{
	(void)fwrite(&number, sizeof(number), 1, stdout);
}

static void write_text(const struct str *text)
{
	write_number(text->len);
	(void)fwrite(str_cstr(text), 1, text->len, stdout);
}

static void merge_all(void)
{
	owned(str_done) struct str base = STR_INIT, ours = STR_INIT, theirs = STR_INIT;

	while (read_text(&base) && read_text(&ours) && read_text(&theirs)) {
		owned(merge_result_done) struct merge_result result = { 0 };
		struct merge_input input = {
			.base = str_cstr(&base),
			.ours = str_cstr(&ours),
			.theirs = str_cstr(&theirs),
			.base_len = base.len,
			.ours_len = ours.len,
			.theirs_len = theirs.len,
			.ours_label = "ours",
			.theirs_label = "theirs",
		};

		merge_text(&input, &result);
		write_number(result.conflict_count);
		write_text(&result.text);
	}
}

static void diff_all(void)
{
	owned(str_done) struct str old = STR_INIT, new = STR_INIT;
	struct unified_options options = { .context = 3 };

	while (read_text(&old) && read_text(&new)) {
		owned(text_done) struct text a = { 0 }, b = { 0 };
		owned(str_done) struct str out = STR_INIT;

		text_split(&a, str_cstr(&old), old.len);
		text_split(&b, str_cstr(&new), new.len);
		textdiff_unified(&a, &b, &options, &out);
		write_text(&out);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "merge") == 0)
		merge_all();
	else if (argc == 2 && strcmp(argv[1], "diff") == 0)
		diff_all();
	else
		return 2;
	return fflush(stdout) == 0 ? 0 : 1;
}
