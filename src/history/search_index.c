/* SPDX-License-Identifier: Apache-2.0 */
/* The index of the search: what is on record as words, and words that people would use for it. */
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "history/search_parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a run's output the end is read: that is where errors stand. */
#define OUTPUT_BYTES 4096
#define DETAIL_BYTES 8192
#define BATCH 500
#define FORMAT 1

/* rowid: the place in the journal. The texts themselves are not kept. */
static const char make_sql[] =
	"CREATE TABLE IF NOT EXISTS search.place(format INTEGER, inode INTEGER, seq INTEGER);"
	"CREATE VIRTUAL TABLE IF NOT EXISTS search.words USING"
	" fts5(command,detail,output,meaning,content='',tokenize='porter unicode61');";
static const char forget_sql[] =
	"DROP TABLE IF EXISTS search.words; DROP TABLE IF EXISTS search.place;";

static const char next_sql[] =
	"SELECT j.seq,j.kind,j.key,r.command,r.status,r.exit_code,r.limits,b.body,e.kind,e.sandbox,"
	"e.subject,e.body FROM journal j LEFT JOIN runs r ON j.kind=2 AND r.run_id=j.key"
	" LEFT JOIN results b ON j.kind=2 AND b.run_id=j.key"
	" LEFT JOIN events e ON j.kind=3 AND e.id=CAST(j.key AS INTEGER)"
	" WHERE j.seq>?1 AND j.kind>1 ORDER BY j.seq LIMIT ?2";

enum next_column {
	AT_SEQ,
	AT_KIND,
	AT_KEY,
	AT_COMMAND,
	AT_STATUS,
	AT_EXIT,
	AT_LIMITS,
	AT_RESULT,
	AT_EVENT,
	AT_SANDBOX,
	AT_SUBJECT,
	AT_BODY,
};

struct document {
	struct str command, detail, output, meaning;
};

static void document_done(struct document *document)
{
	str_done(&document->command);
	str_done(&document->detail);
	str_done(&document->output);
	str_done(&document->meaning);
}

static void add_word(struct str *out, const char *text)
{
	if (text && out->len < DETAIL_BYTES)
		str_addf(out, "%.*s ", (int)(DETAIL_BYTES - out->len), text);
}

/* Every text in a tree, without keys: deep ones were refused when the record was read. */
static void add_texts(struct str *out, const struct value *value)
{
	if (!value)
		return;
	if (value->kind == VALUE_TEXT)
		add_word(out, value->text.bytes);
	else if (value->kind == VALUE_INT)
		str_addf(out, "%" PRId64 " ", value->integer);
	for (size_t i = 0; (value->kind == VALUE_LIST || value->kind == VALUE_MAP) &&
			   i < value->many.count && out->len < DETAIL_BYTES;
	     i++)
		add_texts(out, value->many.items[i]);
}

/* "TAG SECONDS LENGTH", between the pieces of kept output. */
static bool is_frame_head(const char *line, size_t len)
{
	return len > 4 && (*line == 'o' || *line == 'e') && line[1] == ' ' &&
	       isdigit((unsigned char)line[2]) && strspn(line + 2, "0123456789. ") >= len - 2;
}

void search_read_output(const struct history *history, const char *run_id, struct str *ret_text)
{
	owned(free_ptr) char *path = xasprintf("%s/logs/%s", history->state_dir, run_id);
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);
	char buffer[OUTPUT_BYTES + 1];
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t got = size <= 0 ? 0
				: pread(fd, buffer, OUTPUT_BYTES,
					size > OUTPUT_BYTES ? size - OUTPUT_BYTES : 0);

	buffer[got > 0 ? got : 0] = '\0';
	for (char *line = buffer, *end = buffer + (got > 0 ? got : 0); line < end;) {
		char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop : end) - line);

		for (size_t i = 0; i < len; i++) {
			if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
				line[i] = ' ';
		}
		if (len > 0 && !is_frame_head(line, len)) {
			str_add_bytes(ret_text, line, len);
			str_add_char(ret_text, '\n');
		}
		line += len + 1;
	}
}

/* For each command named in it, also those that a shell would start. */
static void add_purposes(const struct str *command, struct str *meaning)
{
	owned(free_ptr) char *copy = xstrdup(str_cstr(command));
	char *rest = copy, *word;

	while ((word = strsep(&rest, " \t\n;&|()'\"`"))) {
		const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

		for (const struct meaning *row = command_meanings; *name && row->text; row++) {
			if (strcmp(row->text, name) == 0)
				add_word(meaning, row->means);
		}
	}
}

static void add_errors(const struct str *text, struct str *meaning)
{
	owned(free_ptr) char *lower = xstrdup(str_cstr(text));

	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	for (const struct meaning *row = error_meanings; *lower && row->text; row++) {
		if (strstr(lower, row->text))
			add_word(meaning, row->means);
	}
}

static void describe_run(const struct history *history, struct db_statement *row,
			 struct document *document)
{
	owned(value_release) struct value *words = history_words(db_text(row, AT_COMMAND));
	owned(value_release) struct value *result = NULL;
	const char *body = db_text(row, AT_RESULT);
	struct error ignored;

	add_texts(&document->command, words);
	str_addf(&document->detail, "%s exit %" PRId64 " ",
		 db_text(row, AT_STATUS) ? db_text(row, AT_STATUS) : "", db_int(row, AT_EXIT));
	/* "failed" is what people call all but the one status. */
	if (str_same(db_text(row, AT_STATUS), "success"))
		str_add(&document->meaning, "passed succeeded ");
	else
		str_add(&document->meaning, "failed failure ");
	add_word(&document->detail, db_text(row, AT_LIMITS));
	if (body && json_read(body, strlen(body), NULL, &result, &ignored) == 0) {
		add_texts(&document->detail, value_get(result, "denials"));
		add_texts(&document->detail, value_get(result, "error"));
		add_texts(&document->detail, value_get(result, "changed"));
	}
	search_read_output(history, db_text(row, AT_KEY), &document->output);
	add_purposes(&document->command, &document->meaning);
	add_errors(&document->output, &document->meaning);
	add_errors(&document->detail, &document->meaning);
}

static void describe_event(struct db_statement *row, struct document *document)
{
	owned(value_release) struct value *body = NULL;
	const char *text = db_text(row, AT_BODY);
	struct error ignored;

	add_word(&document->command, db_text(row, AT_EVENT));
	add_word(&document->detail, db_text(row, AT_SANDBOX));
	add_word(&document->detail, db_text(row, AT_SUBJECT));
	if (text && json_read(text, strlen(text), NULL, &body, &ignored) == 0)
		add_texts(&document->detail, value_get(body, "body"));
	add_errors(&document->detail, &document->meaning);
}

static int index_row(const struct history *history, struct db_statement *row,
		     struct db_statement *insert, struct error *err)
{
	owned(document_done) struct document document = { .command = STR_INIT };

	if (db_int(row, AT_KIND) == 2 && db_text(row, AT_COMMAND))
		describe_run(history, row, &document);
	else if (db_text(row, AT_EVENT))
		describe_event(row, &document);
	else
		return 0;
	db_bind_int(insert, 1, db_int(row, AT_SEQ));
	db_bind_text(insert, 2, str_cstr(&document.command));
	db_bind_text(insert, 3, str_cstr(&document.detail));
	db_bind_text(insert, 4, str_cstr(&document.output));
	db_bind_text(insert, 5, str_cstr(&document.meaning));
	return db_run(insert, err);
}

/* One transaction; *ret_more: there may be others. The place is written first, which keeps a second process waiting. */
static int index_batch(struct history *history, bool *ret_more, struct error *err)
{
	owned(db_statement_release) struct db_statement *place = NULL, *row = NULL, *insert = NULL,
							*keep = NULL;
	int64_t seq;
	int got;

	if (db_execute(history->db, "UPDATE search.place SET format=format", err) < 0 ||
	    db_prepare(history->db, "SELECT seq FROM search.place", &place, err) < 0 ||
	    db_prepare(history->db, next_sql, &row, err) < 0 ||
	    db_prepare(history->db,
		       "INSERT INTO search.words(rowid,command,detail,output,meaning)"
		       " VALUES(?,?,?,?,?)",
		       &insert, err) < 0 ||
	    db_prepare(history->db, "UPDATE search.place SET seq=?", &keep, err) < 0 ||
	    db_step(place, err) < 0)
		return -1;
	seq = db_int(place, 0);
	db_bind_int(row, 1, seq);
	db_bind_int(row, 2, BATCH);
	*ret_more = false;
	while ((got = db_step(row, err)) > 0) {
		seq = db_int(row, AT_SEQ);
		*ret_more = true;
		if (index_row(history, row, insert, err) < 0)
			return -1;
	}
	db_bind_int(keep, 1, seq);
	return got < 0 ? -1 : db_run(keep, err);
}

/* Whether something came since. */
static int is_behind(struct history *history, bool *ret_is, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(history->db,
		       "SELECT (SELECT seq FROM journal WHERE kind>1 ORDER BY seq DESC LIMIT 1)>"
		       "(SELECT seq FROM search.place)",
		       &row, err) < 0 ||
	    db_step(row, err) < 0)
		return -1;
	*ret_is = db_int(row, 0);
	return 0;
}

static int update(struct history *history, struct error *err)
{
	bool has_more;

	if (is_behind(history, &has_more, err) < 0)
		return -1;
	while (has_more) {
		if (db_execute(history->db, "BEGIN", err) < 0)
			return -1;
		if (index_batch(history, &has_more, err) < 0) {
			db_rollback(history->db);
			return -1;
		}
		if (db_commit(history->db, err) < 0)
			return -1;
	}
	return 0;
}

/* Whether the index is one of this journal, in today's form. */
static int is_current(struct history *history, uint64_t inode, bool *ret_is, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(history->db,
		       "SELECT format,inode,seq>ifnull((SELECT seq FROM main.sqlite_sequence"
		       " WHERE name='journal'),0) FROM search.place",
		       &row, err) < 0)
		return -1;
	got = db_step(row, err);
	*ret_is = got > 0 && db_int(row, 0) == FORMAT && db_int(row, 1) == (int64_t)inode &&
		  !db_int(row, 2);
	return got < 0 ? -1 : 0;
}

static int make_anew(struct history *history, uint64_t inode, struct error *err)
{
	char begin[96];

	(void)snprintf(begin, sizeof(begin), "INSERT INTO search.place VALUES(%d,%" PRIu64 ",0)",
		       FORMAT, inode);
	if (db_begin(history->db, err) < 0)
		return -1;
	if (db_execute(history->db, forget_sql, err) < 0 ||
	    db_execute(history->db, make_sql, err) < 0 || db_execute(history->db, begin, err) < 0) {
		db_rollback(history->db);
		return -1;
	}
	return db_commit(history->db, err);
}

static int try_open(struct history *history, const char *path, struct error *err)
{
	owned(free_ptr) char *of = xasprintf("%s/history.db", history->state_dir);
	struct stat st;
	bool is_there;

	if (stat(of, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", of);
	if (db_attach(history->db, path, "search", err) < 0 ||
	    db_execute(history->db, make_sql, err) < 0 ||
	    is_current(history, st.st_ino, &is_there, err) < 0 ||
	    (!is_there && make_anew(history, st.st_ino, err) < 0))
		return -1;
	return update(history, err);
}

/*
 * One process at a time makes, empties or extends the index: two first searches would each drop what the other has
 * just made, and one of them would find nothing. SQLite's own locks cannot cover a file that may be replaced.
 */
int search_index_open(struct history *history, struct error *err)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	owned(free_ptr) char *path = xasprintf("%s/search.db", history->state_dir);
	owned(fd_close) int lock_fd = -1;
	struct error ignored;

	if (history_lock(history, "search.lock", NULL, &lock_fd, err) < 0)
		return -1;
	if (try_open(history, path, err) == 0)
		return 0;
	if (err->code != ERROR_INPUT)
		return -1;
	/* Damaged: all of it can be made anew. */
	(void)db_execute(history->db, "DETACH search", &ignored);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		owned(free_ptr) char *name = xasprintf("%s%s", path, ends[i]);

		(void)unlink(name);
	}
	return try_open(history, path, err);
}
