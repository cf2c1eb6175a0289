/* SPDX-License-Identifier: Apache-2.0 */
/* How much git is asked for at a time: by a stand-in for git that makes blobs of the size their names say. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/git/git.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEGA ((uint64_t)1 << 20)
/* As git_blobs.c has it. */
#define BOUND (60 * MEGA)

static const char stand_in[] = "#!/bin/sh\n"
			       "for word; do how=$word; done\n"
			       "sum=0 count=0\n"
			       "while read -r name; do\n"
			       "	size=$((0x$name))\n"
			       "	echo \"$name blob $size\"\n"
			       "	[ \"$how\" = --batch ] || continue\n"
			       "	head -c $size /dev/zero\n"
			       "	echo\n"
			       "	sum=$((sum + size)) count=$((count + 1))\n"
			       "done\n"
			       "[ \"$how\" != --batch ] || echo $sum $count >> \"$ASKED\"\n";

struct taken {
	size_t count, wrong;
	const uint64_t *sizes;
	bool *is_taken;
};

static void take(void *cookie, size_t index, const char *bytes, size_t len)
{
	struct taken *taken = cookie;

	taken->count++;
	taken->wrong += len != taken->sizes[index] || (len > 0 && bytes[len - 1] != '\0');
	taken->is_taken[index] = true;
}

/* Asks for blobs of SIZES; *ret_calls is what the stand-in was asked for, call by call: "BYTES COUNT". */
static void ask(struct git *git, const char *log, struct taken *taken, size_t count,
		struct str *ret_calls)
{
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;

	for (size_t i = 0; i < count; i++)
		strv_addf(&names, "%040llx", (unsigned long long)taken->sizes[i]);
	git_read_blobs(git, &names, take, taken);
	(void)file_read(AT_FDCWD, log, 1 << 16, ret_calls, &ignored);
	(void)unlink(log);
}

static void test_bytes(struct git *git, const char *log)
{
	const uint64_t sizes[] = { 25 * MEGA, 25 * MEGA, 25 * MEGA, BOUND + 1, 7, BOUND, 0, 1 };
	bool is_taken[8] = { false };
	struct taken taken = { .sizes = sizes, .is_taken = is_taken };
	owned(str_done) struct str calls = STR_INIT;

	ask(git, log, &taken, 8, &calls);
	tap_ok(taken.count == 7 && taken.wrong == 0 && !is_taken[3],
	       "all are had but the one that is larger than an answer may be: %zu, %zu wrong",
	       taken.count, taken.wrong);
	tap_is_str(str_cstr(&calls), "52428800 2\n26214400 1\n7 1\n62914560 2\n1 1\n",
		   "none of the calls asks for more bytes than are taken");
}

static void test_count(struct git *git, const char *log)
{
	uint64_t sizes[130];
	bool is_taken[130] = { false };
	struct taken taken = { .sizes = sizes, .is_taken = is_taken };
	owned(str_done) struct str calls = STR_INIT;

	for (size_t i = 0; i < 130; i++)
		sizes[i] = 10;
	ask(git, log, &taken, 130, &calls);
	tap_ok(taken.count == 130 && taken.wrong == 0, "many small ones");
	tap_is_str(str_cstr(&calls), "640 64\n640 64\n20 2\n", "nor for more of them");
}

int main(void)
{
	struct scratch scratch;

	scratch_open(&scratch);
	owned(free_ptr) char *program = scratch_write(&scratch, "git", stand_in);
	owned(free_ptr) char *log = scratch_path(&scratch, "asked");
	struct git git = { .program = program,
			   .top = scratch.dir,
			   .directory = scratch.dir,
			   .objects = scratch.dir,
			   .index = scratch.dir,
			   .private = { .path = scratch.dir },
			   .nothing = "0" };

	if (chmod(program, 0755) < 0)
		tap_bail("chmod");
	strv_add(&git.env, "PATH=/usr/local/bin:/usr/bin:/bin");
	strv_addf(&git.env, "ASKED=%s", log);
	test_bytes(&git, log);
	test_count(&git, log);
	strv_done(&git.env);
	scratch_close(&scratch);
	return tap_done();
}
