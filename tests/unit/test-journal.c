/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: what is whole is found again, what is torn is cut off, and a failed write leaves nothing. */
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/txn/journal.h"
#include "workspace/txn/txn_parts.h"

/* A directory with a journal of three records in it. */
static int write_three(const struct scratch *scratch, struct journal *ret_journal)
{
	owned(fd_close) int dir = open(scratch->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct str body = STR_INIT;

	if (journal_create(dir, ret_journal) < 0)
		return -1;
	body_add_u32(&body, 7);
	body_add_text(&body, "some text");
	journal_add(ret_journal, JOURNAL_BEGIN, &body);
	journal_add(ret_journal, JOURNAL_PREPARED, NULL);
	str_clear(&body);
	body_add_u64(&body, 1234);
	journal_add(ret_journal, JOURNAL_COMMIT, &body);
	str_done(&body);
	return journal_write(ret_journal, true);
}

static size_t count_records(const char *bytes, size_t len)
{
	struct journal_record record;
	size_t offset = 0, count = 0;

	while (journal_next(bytes, len, &offset, count, &record))
		count++;
	return count;
}

static void test_read_back(void)
{
	struct scratch scratch;
	struct journal journal;
	struct str bytes = STR_INIT;
	struct journal_record record;
	size_t offset = 0, whole = 0;
	bool is_monotonic = true;

	scratch_open(&scratch);
	tap_ok(write_three(&scratch, &journal) == 0, "three records are written");
	journal_close(&journal);
	owned(fd_close) int dir = open(scratch.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	tap_is_int(journal_last(dir), JOURNAL_COMMIT, "the last one is known without reading all");
	tap_ok(journal_open(dir, &journal, &bytes) == 0 && journal.seq == 3, "three are read");
	(void)journal_next(bytes.data, bytes.len, &offset, 0, &record);
	struct body_reader reader = { .at = record.body, .left = record.len };

	tap_is_int(body_u32(&reader), 7, "the first one's number");
	owned(free_ptr) char *text = body_text(&reader);

	tap_is_str(text, "some text", "and its text");
	tap_ok(body_u64(&reader) == 0 && reader.is_bad,
	       "behind the end there is nothing, and it says so");
	for (size_t len = 0; len < bytes.len; len++) {
		size_t now = count_records(bytes.data, len);

		is_monotonic &= now >= whole && now < 3;
		whole = now;
	}
	tap_ok(is_monotonic,
	       "cut at every byte, what is whole before the cut is found, and no more");
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 0x10;
		is_monotonic &= count_records(bytes.data, bytes.len) < 3;
		bytes.data[i] ^= 0x10;
	}
	tap_ok(is_monotonic, "no byte can be changed without being noticed");
	str_done(&bytes);
	journal_close(&journal);
	scratch_close(&scratch);
}

static void test_torn_tail(void)
{
	struct scratch scratch;
	struct journal journal;
	struct str bytes = STR_INIT;

	scratch_open(&scratch);
	(void)write_three(&scratch, &journal);
	uint64_t whole = journal.len;

	if (write(journal.fd, "torn", 4) != 4)
		abort();
	journal_close(&journal);
	owned(fd_close) int dir = open(scratch.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	tap_ok(journal_open(dir, &journal, &bytes) == 0 && journal.len == whole &&
		       bytes.len == whole,
	       "a torn tail is cut off");
	journal_add(&journal, JOURNAL_DONE, NULL);
	tap_ok(journal_write(&journal, false) == 0, "and written over");
	journal_close(&journal);
	str_clear(&bytes);
	tap_ok(journal_open(dir, &journal, &bytes) == 0 && journal.seq == 4,
	       "by a record that counts");
	tap_ok(journal_cut(&journal, whole, 3) == 0, "records can be taken away again");
	journal_close(&journal);
	str_clear(&bytes);
	tap_ok(journal_open(dir, &journal, &bytes) == 0 && journal.seq == 3, "and are gone");
	journal_close(&journal);
	str_done(&bytes);
	scratch_close(&scratch);
}

static void test_paths(void)
{
	static const char *const bad[] = { "",	 "/a",	 "a/",	 "a//b", ".",
					   "..", "a/..", "../a", "a/./b" };
	static const char *const good[] = { "a", "a/b", ".a", "..a", "a/...", "a\nb/\xff" };
	bool all_bad = true, all_good = true;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		all_bad &= !txn_path_is_clean(bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		all_good &= txn_path_is_clean(good[i]);
	tap_ok(all_bad, "paths that leave the tree, or mean two things, are refused");
	tap_ok(all_good, "odd names are none of that");
}

int main(void)
{
	test_read_back();
	test_torn_tail();
	test_paths();
	return tap_done();
}
