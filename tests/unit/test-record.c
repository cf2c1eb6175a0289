/* SPDX-License-Identifier: Apache-2.0 */
/* Records of runs: what a run leaves in the spool, however long its command. */
#include "app/record/record.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "history/spool.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>

/* Both records of a run of COMMAND; false when one was refused or is not there. */
static bool record(const struct strv *command, const struct strv *changed, struct str *ret_start,
		   struct str *ret_end)
{
	owned(str_done) struct str text = STR_INIT;
	owned(spec_done) struct spec spec;
	owned(run_result_done) struct run_result result;
	owned(fd_close) int fd = -1;
	struct scratch scratch;
	struct spool_record found;
	struct error err;
	uint64_t offset = 0, skipped = 0;

	scratch_open(&scratch);
	spec_init(&spec);
	spec.state_dir = scratch_path(&scratch, "state");
	strv_copy(&spec.command, command);
	run_result_init(&result);
	strv_copy(&result.command, command);
	strv_copy(&result.changed, changed);
	bool good = record_start(&spec, NULL, &fd, &err) == 0 && record_end(&result, fd, &err) == 0;
	owned(free_ptr) char *path = scratch_path(&scratch, "state/spool");

	good = good && file_read(AT_FDCWD, path, 1 << 20, &text, &err) == 0;
	while (good && spool_next(text.data, text.len, &offset, &found, &skipped) == 1)
		str_add_bytes(found.type == SPOOL_START ? ret_start : ret_end, found.body,
			      found.len);
	scratch_close(&scratch);
	return good && ret_start->len > 0 && ret_end->len > 0;
}

static void check(const char *what, const struct strv *command, const struct strv *changed,
		  const char *want)
{
	owned(str_done) struct str start = STR_INIT, end = STR_INIT;

	if (!tap_ok(record(command, changed, &start, &end), "%s: recorded", what))
		return;
	tap_ok(strstr(start.data, want) && strstr(end.data, want), "%s: %s", what, want);
}

int main(void)
{
	owned(strv_done) struct strv none = STRV_INIT, usual = STRV_INIT, longer = STRV_INIT;
	owned(strv_done) struct strv many = STRV_INIT, changed = STRV_INIT;
	owned(free_ptr) char *word = xmalloc(300001);

	strv_add(&usual, "echo");
	strv_add(&usual, "hello");
	check("a usual command", &usual, &none, "\"command\":[\"echo\",\"hello\"]");
	memset(word, 1, 300000);
	word[300000] = '\0';
	strv_add(&longer, "echo");
	strv_add(&longer, word);
	strv_add(&longer, "last");
	check("a long word", &longer, &none, "[cut: 3 words of 300008 bytes in all]\"]");
	for (size_t i = 0; i < 5000; i++)
		strv_addf(&many, "%064zu", i);
	check("many words", &many, &none, "[cut: 5000 words of 320000 bytes in all]\"]");
	for (size_t i = 0; i < 5000; i++)
		strv_addf(&changed, "A\tfile-%064zu", i);
	check("many changed files", &usual, &changed, "\"command\":[\"echo\",\"hello\"]");
	return tap_done();
}
