/* SPDX-License-Identifier: Apache-2.0 */
/* The spool: whole records come back, whatever happened between them. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "history/spool.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HEADER 20

/* Everything that spool_next finds, joined by '|'; the offset where it stopped and what it skipped. */
struct found {
	struct str bodies;
	uint64_t offset, skipped;
	unsigned count;
};

static void found_done(struct found *found)
{
	str_done(&found->bodies);
}

static struct found find(const struct str *file)
{
	struct found found = { .bodies = STR_INIT };
	struct spool_record record;

	while (spool_next(str_cstr(file), file->len, &found.offset, &record, &found.skipped) > 0) {
		str_addf(&found.bodies, "%s%d", found.count++ ? "|" : "", (int)record.type);
		str_add_bytes(&found.bodies, record.body, record.len);
	}
	return found;
}

static void is_found(const struct str *file, const char *want, uint64_t skipped, const char *what)
{
	owned(found_done) struct found found = find(file);

	tap_is_str(str_cstr(&found.bodies), want, "%s", what);
	tap_is_int((long long)found.skipped, (long long)skipped, "bytes skipped");
}

/* What spool_append writes for BODY, added to FILE. */
static void add_record(struct str *file, enum spool_type type, const char *body)
{
	owned(fd_close) int fd = memfd_create("spool", MFD_CLOEXEC);
	struct error err = { 0 };

	if (fd < 0 || spool_append(fd, type, body, strlen(body), &err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, 1 << 20, file) < 0)
		tap_bail("cannot make a record");
}

static void test_reading(void)
{
	owned(str_done) struct str file = STR_INIT;

	is_found(&file, "", 0, "nothing in nothing");
	add_record(&file, SPOOL_START, "{\"a\":1}");
	add_record(&file, SPOOL_END, "{}");
	is_found(&file, "1{\"a\":1}|2{}", 0, "two records");
	str_add(&file, "garbage");
	add_record(&file, SPOOL_END, "{\"b\":2}");
	is_found(&file, "1{\"a\":1}|2{}|2{\"b\":2}", 7, "garbage between is skipped");
}

/* Cuts the last record at every byte; it must be left for later, and found once it is whole. */
static void test_tails(void)
{
	owned(str_done) struct str file = STR_INIT;
	size_t first, whole;
	bool kept = true, waiting = true;

	add_record(&file, SPOOL_START, "{\"a\":1}");
	first = file.len;
	add_record(&file, SPOOL_END, "{\"bb\":2}");
	whole = file.len;
	for (size_t len = first; len < whole; len++) {
		struct str cut = { file.data, len, 0 };
		owned(found_done) struct found found = find(&cut);

		kept &= found.count == 1 && found.skipped == 0;
		waiting &= found.offset == first;
	}
	tap_ok(kept, "an unfinished record is not read");
	tap_ok(waiting, "the offset stays before it");
	is_found(&file, "1{\"a\":1}|2{\"bb\":2}", 0, "it is read when it is whole");
}

/* Tears a record at every byte with a whole one behind it: that one must be found at once. */
static void test_torn(void)
{
	owned(str_done) struct str one = STR_INIT, two = STR_INIT;
	bool found_all = true, counted = true;

	add_record(&one, SPOOL_START, "{\"torn\":\"a long body so that it claims much\"}");
	add_record(&two, SPOOL_END, "{}");
	for (size_t len = 0; len < one.len; len++) {
		owned(str_done) struct str file = STR_INIT;

		str_add_bytes(&file, one.data, len);
		str_add_bytes(&file, two.data, two.len);
		owned(found_done) struct found found = find(&file);

		found_all &= strcmp(str_cstr(&found.bodies), "2{}") == 0;
		counted &= found.skipped == len;
	}
	tap_ok(found_all, "a torn record hides nothing behind it");
	tap_ok(counted, "its bytes are counted");
}

/* Flips every bit: never a wrong record, never a lost neighbour. */
static void test_flips(void)
{
	owned(str_done) struct str file = STR_INIT;
	size_t begin, end;
	bool right = true;

	add_record(&file, SPOOL_START, "{\"a\":1}");
	begin = file.len;
	add_record(&file, SPOOL_END, "{\"b\":\"x\"}");
	end = file.len;
	add_record(&file, SPOOL_END, "{\"c\":3}");
	for (size_t bit = begin * 8; bit < end * 8; bit++) {
		file.data[bit / 8] = (char)(file.data[bit / 8] ^ (1 << bit % 8));
		owned(found_done) struct found found = find(&file);

		right &= strcmp(str_cstr(&found.bodies), "1{\"a\":1}|2{\"c\":3}") == 0 &&
			 found.skipped == end - begin;
		file.data[bit / 8] = (char)(file.data[bit / 8] ^ (1 << bit % 8));
	}
	tap_ok(right, "a flipped bit costs its own record only");
}

static void test_strange(void)
{
	owned(str_done) struct str file = STR_INIT;
	uint64_t offset = 1000, skipped = 0;
	struct spool_record record;
	char mark[8];

	add_record(&file, SPOOL_START, "{}");
	memcpy(mark, file.data, sizeof(mark));
	tap_is_int(spool_next(file.data, file.len, &offset, &record, &skipped), 0,
		   "an offset behind the end finds nothing");
	for (int i = 0; i < 100000; i++)
		str_add_bytes(&file, mark, sizeof(mark));
	owned(found_done) struct found found = find(&file);

	tap_is_int((long long)found.count, 1, "a hundred thousand marks are passed over");
	tap_is_int((long long)found.offset, (long long)file.len - 8,
		   "the last may still become a record");
}

static void test_appending(void)
{
	owned(fd_close) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	owned(free_ptr) char *huge = xmalloc(SPOOL_RECORD_MAX + 1);
	struct error err = { 0 };

	tap_ok(spool_append(fd, SPOOL_START, "{}", 2, &err) < 0 && err.errnum == ENOSPC,
	       "a full disk is told: %s", err.text);
	tap_ok(spool_append(fd, SPOOL_START, "[]", 2, &err) < 0 && err.code == ERROR_INTERNAL,
	       "only objects are taken: %s", err.text);
	tap_ok(spool_append(fd, SPOOL_START, "", 0, &err) < 0, "nothing is no record");
	tap_ok(spool_append(fd, SPOOL_START,
			    "{\xff"
			    "aisbx\xfe\n}",
			    10, &err) < 0,
	       "nor is a body with a mark in it");
	memset(huge, '{', SPOOL_RECORD_MAX + 1);
	tap_ok(spool_append(fd, SPOOL_START, huge, SPOOL_RECORD_MAX + 1, &err) < 0,
	       "nor one that is too large: %s", err.text);
}

static void test_short_write(const char *dir)
{
	struct rlimit limit = { .rlim_cur = HEADER + 10, .rlim_max = RLIM_INFINITY };
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		struct error err = { 0 };
		int fd = -1;

		(void)signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || spool_open(dir, &fd, &err) < 0 ||
		    ftruncate(fd, 0) < 0)
			_exit(2);
		_exit(spool_append(fd, SPOOL_END, "{\"much\":\"more than fits\"}", 25, &err) < 0 &&
				      err.code == ERROR_HOST
			      ? 0
			      : 1);
	}
	tap_ok(waitpid(child, &status, 0) == child && status == 0, "a short write is told");
}

static void test_opening(const char *dir)
{
	owned(free_ptr) char *deep = xasprintf("%s/a/b/c", dir);
	owned(free_ptr) char *file = xasprintf("%s/a/b/c/spool", dir);
	owned(free_ptr) char *below = xasprintf("%s/a/b/c/spool/x", dir);
	owned(fd_close) int fd = -1, second = -1;
	owned(str_done) struct str text = STR_INIT;
	struct error err = { 0 };
	struct stat st;

	tap_ok(spool_open(deep, &fd, &err) == 0, "missing directories are made: %s", err.text);
	tap_ok(stat(deep, &st) == 0 && (st.st_mode & 0777) == 0700, "for this user only");
	tap_ok(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600, "the file too");
	tap_ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "the descriptor is close-on-exec");
	tap_ok(spool_append(fd, SPOOL_START, "{}", 2, &err) == 0, "a record is added");
	tap_ok(spool_open(deep, &second, &err) == 0, "a second supervisor opens it");
	tap_ok(spool_append(second, SPOOL_END, "{\"x\":1}", 7, &err) == 0, "and adds its own");
	tap_ok(file_read(AT_FDCWD, file, 1 << 20, &text, &err) == 0, "the file is read");
	is_found(&text, "1{}|2{\"x\":1}", 0, "both are there");
	test_short_write(deep);
	fd_close(&second);
	tap_ok(spool_open(below, &second, &err) < 0, "a file is no directory: %s", err.text);
	tap_ok(unlink(file) == 0 && mkfifo(file, 0600) == 0 && spool_open(deep, &second, &err) < 0,
	       "a fifo does not hang: %s", err.text);
	tap_ok(unlink(file) == 0 && symlink("/dev/null", file) == 0 &&
		       spool_open(deep, &second, &err) < 0,
	       "a link is not followed: %s", err.text);
	tap_ok(unlink(file) == 0 && mkdir(file, 0700) == 0 && spool_open(deep, &second, &err) < 0,
	       "a directory is no file: %s", err.text);
	tap_is_int(second, -1, "failures leave the output alone");
}

static void remove_dirs(const char *dir)
{
	static const char *const below[] = { "/a/b/c/spool", "/a/b/c", "/a/b", "/a", "" };

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		owned(free_ptr) char *path = xasprintf("%s%s", dir, below[i]);

		(void)rmdir(path);
	}
}

int main(void)
{
	char dir[] = "/tmp/aisbx-test-spool-XXXXXX";

	if (!mkdtemp(dir))
		tap_bail("cannot make a scratch directory");
	test_reading();
	test_tails();
	test_torn();
	test_flips();
	test_strange();
	test_appending();
	test_opening(dir);
	remove_dirs(dir);
	return tap_done();
}
