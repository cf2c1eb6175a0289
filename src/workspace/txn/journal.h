/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a transaction: an append-only file of records {u32 length, u32 crc32c, u64 sequence, u8 type, body}, all
 * little-endian. What stands behind the last whole record is cut off: it was being written when the writer was killed.
 */
#ifndef WORKSPACE_JOURNAL_H
#define WORKSPACE_JOURNAL_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stdint.h>

enum journal_type {
	JOURNAL_BEGIN = 1,
	JOURNAL_PLACE,	/* a directory with slots */
	JOURNAL_BESIDE, /* a slot that will lie beside its target */
	JOURNAL_OP,
	JOURNAL_PREPARED,
	JOURNAL_COMMIT,
	JOURNAL_DONE,
	JOURNAL_ABORT,
	JOURNAL_ROLLEDBACK,
	JOURNAL_UNDO,
	JOURNAL_UNDONE,
	JOURNAL_GONE = 13, /* is being removed */
	JOURNAL_TIME,	   /* a directory's, before anything changed in it; stands among the OPs */
};

#define JOURNAL_NAME "journal"
#define JOURNAL_BODY_MAX (16u << 20)
#define JOURNAL_MAX (1ull << 30)

struct journal {
	int fd;
	uint64_t seq;	    /* of the next record */
	uint64_t written;   /* the sequence number behind what is written */
	uint64_t len;	    /* what is written and whole */
	struct str waiting; /* records not written yet */
};

struct journal_record {
	enum journal_type type;
	const unsigned char *body; /* borrowed */
	size_t len;
};

/* A new, empty journal in DIR_FD. 0, or -1 with errno. */
int journal_create(int dir_fd, struct journal *ret_journal);
/* The journal of DIR_FD for reading and going on; *ret_bytes is what it holds. 0, or -1 with errno. */
int journal_open(int dir_fd, struct journal *ret_journal, struct str *ret_bytes);
void journal_close(struct journal *journal);

/* Adds a record to those waiting. */
void journal_add(struct journal *journal, enum journal_type type, const struct str *body);
/* Writes those waiting; DURABLE: waits for the disk. On failure the file is as before, and they are dropped. 0, or -1 with errno. */
int journal_write(struct journal *journal, bool durable);
/* Takes everything behind LEN away again, down to record SEQ. Needs no space. 0, or -1 with errno. */
int journal_cut(struct journal *journal, uint64_t len, uint64_t seq);

/*
 * The next record at *OFFSET, which must carry sequence number SEQ; moves *OFFSET behind it. False at the end, which is
 * also where the first damaged or unfinished record stands. Pure.
 */
bool journal_next(const char *bytes, size_t len, size_t *offset, uint64_t seq,
		  struct journal_record *ret_record);

/* The type of the last record when that is a whole one without a body of variable size; else 0. Cheap: reads the end only. */
int journal_last(int dir_fd);

/* Bodies: numbers and counted bytes, one after the other. */
void body_add_u8(struct str *body, uint8_t number);
void body_add_u32(struct str *body, uint32_t number);
void body_add_u64(struct str *body, uint64_t number);
void body_add_bytes(struct str *body, const void *bytes, size_t len);
void body_add_text(struct str *body, const char *text);

struct body_reader {
	const unsigned char *at;
	size_t left;
	bool is_bad; /* something was missing; everything read since is 0 */
};

uint8_t body_u8(struct body_reader *reader);
uint32_t body_u32(struct body_reader *reader);
uint64_t body_u64(struct body_reader *reader);
/* Counted bytes, borrowed; NULL and 0 when bad. */
const void *body_bytes(struct body_reader *reader, size_t *ret_len);
/* Counted bytes as an owned string; NULL when bad or when there is a NUL inside. */
char *body_text(struct body_reader *reader);

#endif
