/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of contents, of sparse ones in the time their data takes. */
#include "workspace/disk/digest.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART (64u << 10)
#define HEAD "aisbx parts\n"

static bool is_zero(const char *part, size_t len)
{
	return len == 0 || (part[0] == 0 && memcmp(part, part + 1, len - 1) == 0);
}

static void add_number(struct sha256 *sum, uint64_t number)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	sha256_add(sum, bytes, sizeof(bytes));
}

/* Places are multiples of a part, whatever the holes of this copy are. */
static int add_parts(struct sha256 *sum, int fd, off_t size)
{
	owned(free_ptr) char *part = xmalloc(PART);

	for (off_t at = 0; at < size;) {
		off_t data = lseek(fd, at, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data > at)
			at = data - data % (off_t)PART;
		ssize_t len = fd_read_at(fd, part, PART, at);

		if (len < 0)
			return -1;
		if (len == 0)
			return 0;
		if (!is_zero(part, (size_t)len)) {
			add_number(sum, (uint64_t)at);
			sha256_add(sum, part, (size_t)len);
		}
		at += (off_t)PART;
	}
	return 0;
}

int digest_fd(int fd, char ret_hex[static SHA256_HEX_SIZE])
{
	struct sha256 sum;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (st.st_size <= DIGEST_WHOLE_MAX)
		return sha256_fd(fd, ret_hex);
	sha256_start(&sum);
	sha256_add(&sum, HEAD, strlen(HEAD));
	add_number(&sum, (uint64_t)st.st_size);
	if (add_parts(&sum, fd, st.st_size) < 0)
		return -1;
	sha256_end(&sum, ret_hex);
	return 0;
}

int digest_matches(int fd, const char *hex)
{
	char found[SHA256_HEX_SIZE];
	struct stat st;

	if (fstat(fd, &st) < 0 || digest_fd(fd, found) < 0)
		return -1;
	if (strcmp(found, hex) == 0)
		return 1;
	if (st.st_size <= DIGEST_WHOLE_MAX || st.st_size > DIGEST_EARLIER_WHOLE_MAX)
		return 0;
	return sha256_fd(fd, found) < 0 ? -1 : strcmp(found, hex) == 0;
}
