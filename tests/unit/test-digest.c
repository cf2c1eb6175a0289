/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of files too large to be read whole: one content has one, and holes cost nothing. */
#include "tests/tap.h"
#include "base/core/own.h"
#include "tests/unit/scratch.h"
#include "workspace/disk/digest.h"

#include <errno.h>

#define LARGE (DIGEST_WHOLE_MAX + (1 << 20) + 7)

static int make(const struct scratch *scratch, const char *name, off_t size)
{
	owned(free_ptr) char *path = scratch_path(scratch, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0 && ftruncate(fd, size) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void put(int fd, const char *text, size_t len, off_t at)
{
	if (pwrite(fd, text, len, at) != (ssize_t)len)
		abort();
}

/* Whether both have one. */
static bool is_same(int a, int b)
{
	char first[SHA256_HEX_SIZE], second[SHA256_HEX_SIZE];

	if (digest_fd(a, first) < 0 || digest_fd(b, second) < 0)
		abort();
	return strcmp(first, second) == 0;
}

static void test_small(const struct scratch *scratch)
{
	owned(fd_close) int fd = make(scratch, "small", 0);
	char hex[SHA256_HEX_SIZE], whole[SHA256_HEX_SIZE];

	put(fd, "abc", 3, 0);
	tap_ok(digest_fd(fd, hex) == 0 && sha256_fd(fd, whole) == 0 && strcmp(hex, whole) == 0,
	       "a small file's is the SHA-256 of its content");
	tap_ok(digest_fd(-1, hex) < 0 && errno == EBADF, "of no file there is none");
}

static void test_large(const struct scratch *scratch)
{
	static const char zeros[8192];
	owned(fd_close) int one = make(scratch, "one", LARGE);
	owned(fd_close) int other = make(scratch, "other", LARGE);

	if (one < 0 || other < 0) {
		tap_skip(6, "this filesystem has no files of that size");
		return;
	}
	tap_ok(is_same(one, other), "nothing but a hole has one");
	put(one, "text", 4, DIGEST_WHOLE_MAX);
	tap_ok(!is_same(one, other), "content beyond what is read whole counts");
	put(other, "text", 4, DIGEST_WHOLE_MAX);
	put(other, zeros, sizeof(zeros), 1 << 20);
	put(other, zeros, sizeof(zeros), LARGE - (off_t)sizeof(zeros));
	tap_ok(is_same(one, other), "zeros that are written are those of a hole");
	put(other, zeros, 4, DIGEST_WHOLE_MAX);
	put(other, "text", 4, DIGEST_WHOLE_MAX + (64 << 10));
	tap_ok(!is_same(one, other), "the same at another place is another content");
	put(other, zeros, 4, DIGEST_WHOLE_MAX + (64 << 10));
	put(other, "text", 4, DIGEST_WHOLE_MAX);
	tap_ok(is_same(one, other), "and back at its place the first again");
	tap_ok(ftruncate(other, LARGE + 1) == 0 && !is_same(one, other),
	       "a zero more at the end is another content");
}

/* What this process has read so far, by the kernel's count; -1 where it does not count. */
static long long bytes_read(void)
{
	FILE *io = fopen("/proc/self/io", "re");
	long long count = -1;

	if (io && fscanf(io, "rchar: %lld", &count) != 1)
		count = -1;
	if (io)
		(void)fclose(io);
	return count;
}

/* 3 GiB with some bytes of data, which used to be read and hashed to the last zero. */
static void test_reads_data_only(const struct scratch *scratch)
{
	owned(fd_close) int fd = make(scratch, "sparse", 3ll << 30);
	char hex[SHA256_HEX_SIZE];
	long long before = bytes_read();

	if (fd < 0 || before < 0) {
		tap_skip(1, "no files of that size, or no count of what is read");
		return;
	}
	put(fd, "text", 4, 1 << 20);
	put(fd, "text", 4, 2ll << 30);
	tap_ok(digest_fd(fd, hex) == 0 && bytes_read() - before < 1 << 20,
	       "of 3 GiB with two words in them less than 1 MiB is read");
}

/* Earlier versions took the digest of the whole content up to 4 GiB. */
static void test_earlier_records(const struct scratch *scratch)
{
	owned(fd_close) int fd = make(scratch, "earlier", DIGEST_WHOLE_MAX + 1);
	char hex[SHA256_HEX_SIZE], whole[SHA256_HEX_SIZE];

	put(fd, "text", 4, 0);
	if (digest_fd(fd, hex) < 0 || sha256_fd(fd, whole) < 0)
		abort();
	tap_ok(strcmp(hex, whole) != 0 && digest_matches(fd, hex) == 1 &&
		       digest_matches(fd, whole) == 1,
	       "a large file matches its digest of today and that of an earlier record");
	put(fd, "other", 5, 0);
	tap_ok(digest_matches(fd, hex) == 0 && digest_matches(fd, whole) == 0,
	       "and neither once it is another content");
	tap_ok(ftruncate(fd, 5) == 0 && sha256_fd(fd, whole) == 0 &&
		       digest_matches(fd, whole) == 1 && digest_matches(fd, hex) == 0,
	       "a small one matches its SHA-256 only");
	tap_ok(digest_matches(-1, hex) < 0 && errno == EBADF, "no file matches nothing");
}

int main(void)
{
	struct scratch scratch;

	scratch_open(&scratch);
	test_small(&scratch);
	test_large(&scratch);
	test_reads_data_only(&scratch);
	test_earlier_records(&scratch);
	scratch_close(&scratch);
	return tap_done();
}
