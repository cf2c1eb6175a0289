/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a transaction: checksummed records, and finding the last whole one again. */
#include "workspace/txn/journal.h"

#include "base/hash/crc32c.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_SIZE 17u
/* COMMIT, DONE and the like carry the time and nothing else. */
#define END_BODY_SIZE 8u

static void put(unsigned char *at, uint64_t number, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		at[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned size)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < size; i++)
		number |= (uint64_t)at[i] << 8 * i;
	return number;
}

/* Over everything but itself. */
static uint32_t checksum(const unsigned char *record, size_t body_len)
{
	return crc32c(crc32c(0, record, 4), record + 8, HEADER_SIZE - 8 + body_len);
}

int journal_create(int dir_fd, struct journal *ret_journal)
{
	int fd = sys_openat(dir_fd, JOURNAL_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -1;
	*ret_journal = (struct journal){ .fd = fd };
	return 0;
}

int journal_open(int dir_fd, struct journal *ret_journal, struct str *ret_bytes)
{
	owned(fd_close) int fd =
		openat(dir_fd, JOURNAL_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct journal journal = { 0 };
	struct journal_record record;
	struct stat st;
	size_t offset = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	/* A checksum proves integrity, not authorship. */
	if (st.st_uid != geteuid() || (st.st_mode & 077) || st.st_nlink != 1) {
		errno = EPERM;
		return -1;
	}
	if (fd_read_all(fd, JOURNAL_MAX, ret_bytes) < 0)
		return -1;
	while (journal_next(ret_bytes->data, ret_bytes->len, &offset, journal.seq, &record))
		journal.seq++;
	str_truncate(ret_bytes, offset);
	journal.len = offset;
	journal.written = journal.seq;
	journal.fd = fd_take(&fd);
	*ret_journal = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	fd_close(&journal->fd);
	str_done(&journal->waiting);
}

void journal_add(struct journal *journal, enum journal_type type, const struct str *body)
{
	unsigned char header[HEADER_SIZE] = { 0 };
	size_t start = journal->waiting.len, len = body ? body->len : 0;
	unsigned char *record;

	str_add_bytes(&journal->waiting, header, sizeof(header));
	if (len > 0)
		str_add_bytes(&journal->waiting, body->data, len);
	record = (unsigned char *)journal->waiting.data + start;
	put(record, len, 4);
	put(record + 8, journal->seq++, 8);
	put(record + 16, (uint64_t)type, 1);
	put(record + 4, checksum(record, len), 4);
}

static int write_waiting(struct journal *journal, bool durable)
{
	/* Behind the last whole record there may be what a killed process left. */
	if (ftruncate(journal->fd, (off_t)journal->len) < 0 ||
	    lseek(journal->fd, (off_t)journal->len, SEEK_SET) < 0)
		return -1;
	if (sys_write_all(journal->fd, str_cstr(&journal->waiting), journal->waiting.len) < 0)
		return -1;
	return durable ? sys_fdatasync(journal->fd) : 0;
}

int journal_write(struct journal *journal, bool durable)
{
	if (write_waiting(journal, durable) < 0) {
		int saved = errno;

		(void)!ftruncate(journal->fd, (off_t)journal->len);
		/* A record that failed must not appear with the next one. */
		str_clear(&journal->waiting);
		journal->seq = journal->written;
		errno = saved;
		return -1;
	}
	journal->len += journal->waiting.len;
	journal->written = journal->seq;
	str_clear(&journal->waiting);
	return 0;
}

int journal_cut(struct journal *journal, uint64_t len, uint64_t seq)
{
	str_clear(&journal->waiting);
	journal->len = len;
	journal->seq = journal->written = seq;
	if (sys_ftruncate(journal->fd, (off_t)len) < 0)
		return -1;
	return sys_fdatasync(journal->fd);
}

/* The numbers are on disk: one that is no longer written stays free. */
static bool is_type(uint8_t type)
{
	return (type >= JOURNAL_BEGIN && type <= JOURNAL_UNDONE) ||
	       (type >= JOURNAL_GONE && type <= JOURNAL_TIME);
}

bool journal_next(const char *bytes, size_t len, size_t *offset, uint64_t seq,
		  struct journal_record *ret_record)
{
	if (*offset > len || len - *offset < HEADER_SIZE)
		return false;
	const unsigned char *record = (const unsigned char *)bytes + *offset;
	size_t body_len = (size_t)get(record, 4);
	uint8_t type = record[16];

	if (body_len > JOURNAL_BODY_MAX || body_len > len - *offset - HEADER_SIZE)
		return false;
	if (!is_type(type) || get(record + 8, 8) != seq ||
	    get(record + 4, 4) != checksum(record, body_len))
		return false;
	*ret_record = (struct journal_record){
		.type = (enum journal_type)type,
		.body = record + HEADER_SIZE,
		.len = body_len,
	};
	*offset += HEADER_SIZE + body_len;
	return true;
}

int journal_last(int dir_fd)
{
	unsigned char record[HEADER_SIZE + END_BODY_SIZE];
	struct stat st;
	owned(fd_close) int fd = file_open(dir_fd, JOURNAL_NAME, O_NOFOLLOW, &st);

	if (fd < 0 || st.st_size < (off_t)sizeof(record))
		return 0;
	if (pread(fd, record, sizeof(record), st.st_size - (off_t)sizeof(record)) !=
	    (ssize_t)sizeof(record))
		return 0;
	if (get(record, 4) != END_BODY_SIZE ||
	    get(record + 4, 4) != checksum(record, END_BODY_SIZE))
		return 0;
	return record[16];
}

void body_add_u8(struct str *body, uint8_t number)
{
	str_add_char(body, (char)number);
}

void body_add_u32(struct str *body, uint32_t number)
{
	unsigned char bytes[4];

	put(bytes, number, sizeof(bytes));
	str_add_bytes(body, bytes, sizeof(bytes));
}

void body_add_u64(struct str *body, uint64_t number)
{
	unsigned char bytes[8];

	put(bytes, number, sizeof(bytes));
	str_add_bytes(body, bytes, sizeof(bytes));
}

void body_add_bytes(struct str *body, const void *bytes, size_t len)
{
	body_add_u32(body, (uint32_t)len);
	if (len > 0)
		str_add_bytes(body, bytes, len);
}

void body_add_text(struct str *body, const char *text)
{
	body_add_bytes(body, text ? text : "", text ? strlen(text) : 0);
}

static uint64_t body_number(struct body_reader *reader, unsigned size)
{
	if (reader->is_bad || reader->left < size) {
		reader->is_bad = true;
		return 0;
	}
	reader->at += size;
	reader->left -= size;
	return get(reader->at - size, size);
}

uint8_t body_u8(struct body_reader *reader)
{
	return (uint8_t)body_number(reader, 1);
}

uint32_t body_u32(struct body_reader *reader)
{
	return (uint32_t)body_number(reader, 4);
}

uint64_t body_u64(struct body_reader *reader)
{
	return body_number(reader, 8);
}

const void *body_bytes(struct body_reader *reader, size_t *ret_len)
{
	size_t len = body_u32(reader);

	*ret_len = 0;
	if (reader->is_bad || reader->left < len) {
		reader->is_bad = true;
		return NULL;
	}
	reader->at += len;
	reader->left -= len;
	*ret_len = len;
	return reader->at - len;
}

char *body_text(struct body_reader *reader)
{
	size_t len;
	const void *bytes = body_bytes(reader, &len);

	if (!bytes || memchr(bytes, '\0', len)) {
		reader->is_bad = true;
		return NULL;
	}
	return xstrndup(bytes, len);
}
