/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: appending checksummed records, and finding them again after any accident.
 *
 * A record is a mark of eight bytes, three little-endian numbers (type, length of the body, checksum over all that
 * follows the mark) and the body, a JSON object. The mark begins with a byte that UTF-8 never has, and a body
 * begins with '{', so a mark found behind another one's always begins a record: one that claims to reach over it
 * is torn. That makes reading a single pass, whatever the damage.
 */
#include "history/spool.h"

#include "base/hash/crc32c.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

static const char mark[8] = { (char)0xff, 'a', 'i', 's', 'b', 'x', (char)0xfe, '\n' };

#define REOPEN_MAX 16
#define HEADER_SIZE (sizeof(mark) + 12)

static void put_u32(unsigned char *at, uint32_t number)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (unsigned char)(number >> 8 * i);
}

static uint32_t get_u32(const char *at)
{
	uint32_t number = 0;

	for (unsigned i = 0; i < 4; i++)
		number |= (uint32_t)(unsigned char)at[i] << 8 * i;
	return number;
}

/* Over type and length as they stand in the header, then the body. */
static uint32_t checksum(const void *type_and_length, const char *body, size_t len)
{
	return crc32c(crc32c(0, type_and_length, 8), body, len);
}

/* Makes DIR and what is missing above it, for this user only. */
static int make_dirs(const char *dir, struct error *err)
{
	owned(free_ptr) char *path = xstrdup(dir);

	for (char *slash = path; slash; *slash = '/') {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return error_errno(err, ERROR_HOST, "cannot make '%s'", path);
		if (!slash)
			break;
	}
	return 0;
}

static int open_file(const char *path)
{
	return open(path,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		    0600);
}

/* Opens and holds it; 1 when a fold removed it in between: then there is a new one, or none. */
static int open_held(const char *path, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = open_file(path);
	struct stat st;

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open '%s'", path);
	/* Shared with other runs; folding takes it exclusively to know that nothing more will come. */
	if (flock(fd, LOCK_SH) < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_HOST, "'%s' is not a regular file", path);
	if (st.st_nlink == 0)
		return 1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int spool_open(const char *state_dir, int *ret_fd, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/spool", state_dir);
	int status = open_held(path, ret_fd, err);

	/* Nearly always it is there: look for the directory only when it is not. */
	if (status < 0 && err->errnum == ENOENT) {
		if (make_dirs(state_dir, err) < 0)
			return -1;
		status = open_held(path, ret_fd, err);
	}
	for (int i = 0; status > 0 && i < REOPEN_MAX; i++)
		status = open_held(path, ret_fd, err);
	return status > 0 ? error_set(err, ERROR_HOST, "'%s' is removed again and again", path)
			  : status;
}

int spool_append(int fd, enum spool_type type, const char *body, size_t len, struct error *err)
{
	unsigned char header[HEADER_SIZE];
	struct iovec parts[2] = { { .iov_base = header, .iov_len = sizeof(header) } };
	ssize_t done;

	if (len > SPOOL_RECORD_MAX)
		return error_set(err, ERROR_INTERNAL, "a record of %zu bytes is too large", len);
	if (len == 0 || body[0] != '{' || memmem(body, len, mark, sizeof(mark)))
		return error_set(err, ERROR_INTERNAL, "a record must be a JSON object");
	memcpy(header, mark, sizeof(mark));
	put_u32(header + 8, type);
	put_u32(header + 12, (uint32_t)len);
	put_u32(header + 16, checksum(header + 8, body, len));
	memcpy(&parts[1].iov_base, &body, sizeof(body));
	parts[1].iov_len = len;
	do {
		done = writev(fd, parts, 2);
	} while (done < 0 && errno == EINTR);
	if (done < 0)
		return error_errno(err, ERROR_HOST, "cannot write to the spool");
	/* The rest is not tried again: another run's record may stand behind the first part by now. */
	if ((size_t)done != sizeof(header) + len)
		return error_set(err, ERROR_HOST, "cannot write to the spool: no space left");
	return 0;
}

/* The next mark at or after FROM, or LEN. */
static size_t find_mark(const char *buffer, size_t len, size_t from)
{
	const char *found =
		from < len ? memmem(buffer + from, len - from, mark, sizeof(mark)) : NULL;

	return found ? (size_t)(found - buffer) : len;
}

/* Length of the beginning of a mark that the buffer ends in. */
static size_t half_mark(const char *buffer, size_t len, size_t from)
{
	for (size_t have = sizeof(mark) - 1; have > 0; have--) {
		if (len - from >= have && memcmp(buffer + len - have, mark, have) == 0)
			return have;
	}
	return 0;
}

enum verdict { RECORD_WHOLE, RECORD_TORN, RECORD_UNFINISHED };

/* Judges the record whose mark stands at AT; NEXT is the next mark behind it, or LEN. */
static enum verdict judge(const char *buffer, size_t len, size_t at, size_t next,
			  struct spool_record *ret_record)
{
	const char *header = buffer + at + sizeof(mark);
	size_t have = next - at;

	if (have < HEADER_SIZE)
		return next < len ? RECORD_TORN : RECORD_UNFINISHED;
	uint32_t type = get_u32(header), body_len = get_u32(header + 4);

	if (type < SPOOL_START || type > SPOOL_EVENT || body_len > SPOOL_RECORD_MAX)
		return RECORD_TORN;
	if (have - HEADER_SIZE < body_len)
		return next < len ? RECORD_TORN : RECORD_UNFINISHED;
	const char *body = buffer + at + HEADER_SIZE;

	if (checksum(header, body, body_len) != get_u32(header + 8))
		return RECORD_TORN;
	*ret_record = (struct spool_record){
		.type = (enum spool_type)type,
		.body = body,
		.len = body_len,
		.offset = at,
	};
	return RECORD_WHOLE;
}

int spool_next(const char *buffer, size_t len, uint64_t *offset, struct spool_record *ret_record,
	       uint64_t *ret_skipped)
{
	size_t from = *offset < len ? (size_t)*offset : len;
	size_t at = find_mark(buffer, len, from);

	while (at < len) {
		size_t next = find_mark(buffer, len, at + sizeof(mark));
		enum verdict verdict = judge(buffer, len, at, next, ret_record);

		if (verdict != RECORD_TORN)
			*ret_skipped += at - from;
		if (verdict == RECORD_WHOLE) {
			*offset = at + HEADER_SIZE + ret_record->len;
			return 1;
		}
		if (verdict == RECORD_UNFINISHED) {
			*offset = at;
			return 0;
		}
		at = next;
	}
	at = len - half_mark(buffer, len, from);
	*ret_skipped += at - from;
	*offset = at;
	return 0;
}
