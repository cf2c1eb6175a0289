/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding: spool files into the database.
 *
 * A spool file is known by its inode and birth, not by its name: it keeps its place when it is retired, that is renamed so
 * that the next run begins a new one. Writers hold a shared lock for as long as the file is open (spool_open), so an
 * exclusive lock proves that nothing more will come.
 */
#include "history/fold.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/core/str.h"
#include "history/fold_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Read at a time, and folded by one transaction. Many of the largest records fit. */
#define CHUNK ((size_t)4 << 20)
/* A spool beyond this is retired once it is folded. */
#define RETIRE_BYTES ((uint64_t)16 << 20)

struct spool_file {
	int fd;
	uint64_t inode, born_ns, size;
};

static int spool_file_open(int dir_fd, const char *name, struct spool_file *ret_file)
{
	struct statx st;
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    !S_ISREG(st.stx_mode))
		return -1;
	*ret_file = (struct spool_file){ .inode = st.stx_ino, .size = st.stx_size };
	if (st.stx_mask & STATX_BTIME)
		ret_file->born_ns =
			(uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
	ret_file->fd = fd_take(&fd);
	return 0;
}

static int bind_file(struct db *db, const char *sql, const struct spool_file *file, int place,
		     struct db_statement **ret_statement, struct error *err)
{
	if (db_prepare(db, sql, ret_statement, err) < 0)
		return -1;
	db_bind_int(*ret_statement, place, (int64_t)file->inode);
	db_bind_int(*ret_statement, place + 1, (int64_t)file->born_ns);
	return 0;
}

static int read_done(struct db *db, const struct spool_file *file, uint64_t size,
		     uint64_t *ret_done, struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;
	int got;

	if (bind_file(db, "SELECT done FROM spools WHERE inode=? AND born_ns=?", file, 1,
		      &statement, err) < 0)
		return -1;
	got = db_step(statement, err);
	if (got < 0)
		return -1;
	*ret_done = got ? (uint64_t)db_int(statement, 0) : 0;
	/* A power cut took the end of it: what comes now is new. */
	if (*ret_done > size)
		*ret_done = size;
	return 0;
}

static int write_done(struct db *db, const struct spool_file *file, uint64_t done,
		      struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (bind_file(db, "INSERT OR REPLACE INTO spools(inode,born_ns,done) VALUES(?,?,?)", file,
		      1, &statement, err) < 0)
		return -1;
	db_bind_int(statement, 3, (int64_t)done);
	return db_run(statement, err);
}

static int forget_file(struct db *db, const struct spool_file *file, struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (bind_file(db, "DELETE FROM spools WHERE inode=? AND born_ns=?", file, 1, &statement,
		      err) < 0)
		return -1;
	return db_run(statement, err);
}

/* Folds what BUFFER holds from *DONE on. */
static int fold_buffer(struct fold_statements *statements, const char *buffer, size_t len,
		       uint64_t *ret_used, struct error *err)
{
	struct spool_record record;
	uint64_t skipped = 0;

	*ret_used = 0;
	while (spool_next(buffer, len, ret_used, &record, &skipped) == 1) {
		if (fold_record(statements, &record, err) < 0)
			return -1;
	}
	return 0;
}

/* One transaction: at most a chunk. *ret_more: there may be another. */
static int fold_chunk(struct db *db, const struct spool_file *file, char *buffer, bool *ret_more,
		      struct error *err)
{
	owned(fold_statements_close) struct fold_statements statements = { 0 };
	uint64_t done, used;
	struct stat st;
	ssize_t got;

	/*
	 * Under the lock of the transaction: another process may have folded meanwhile, more than there was when the file was
	 * opened, or all of it, and have removed and forgotten it.
	 */
	if (fstat(file->fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at the spool");
	*ret_more = false;
	if (st.st_nlink == 0)
		return 0;
	if (read_done(db, file, (uint64_t)st.st_size, &done, err) < 0)
		return -1;
	got = pread(file->fd, buffer, CHUNK, (off_t)done);
	if (got < 0)
		return error_errno(err, ERROR_HOST, "cannot read the spool");
	if (fold_statements_open(db, &statements, err) < 0 ||
	    fold_buffer(&statements, buffer, (size_t)got, &used, err) < 0)
		return -1;
	*ret_more = used > 0 && (size_t)got == CHUNK;
	return used > 0 ? write_done(db, file, done + used, err) : 0;
}

static int fold_file(struct db *db, const struct spool_file *file, struct error *err)
{
	owned(free_ptr) char *buffer = NULL;
	bool more = true;
	uint64_t done;

	if (read_done(db, file, file->size, &done, err) < 0)
		return -1;
	if (done == file->size)
		return 0;
	buffer = xmalloc(CHUNK);
	while (more) {
		if (db_begin(db, err) < 0)
			return -1;
		if (fold_chunk(db, file, buffer, &more, err) < 0) {
			db_rollback(db);
			return -1;
		}
		if (db_commit(db, err) < 0)
			return -1;
	}
	return 0;
}

/* A retired file that is folded to its end and no longer held is removed. */
static int drop_retired(struct db *db, int dir_fd, const char *name, const struct spool_file *file,
			struct error *err)
{
	struct stat st;

	if (flock(file->fd, LOCK_EX | LOCK_NB) < 0 || fstat(file->fd, &st) < 0)
		return 0;
	/* What was appended between the folding and the lock comes next time. */
	if ((uint64_t)st.st_size != file->size)
		return 0;
	if (unlinkat(dir_fd, name, 0) < 0)
		return 0;
	return forget_file(db, file, err);
}

static int fold_named(struct db *db, int dir_fd, const char *name, struct error *err)
{
	struct spool_file file;
	char retired[64];
	int status;

	if (spool_file_open(dir_fd, name, &file) < 0)
		return 0;
	status = fold_file(db, &file, err);
	if (status == 0 && strcmp(name, "spool") != 0)
		status = drop_retired(db, dir_fd, name, &file, err);
	if (status == 0 && strcmp(name, "spool") == 0 && file.size > RETIRE_BYTES) {
		(void)snprintf(retired, sizeof(retired), "spool.%llu",
			       (unsigned long long)clock_epoch_ms());
		(void)renameat2(dir_fd, "spool", dir_fd, retired, RENAME_NOREPLACE);
	}
	close(file.fd);
	return status;
}

static int fold_all(struct db *db, const char *state_dir, struct error *err)
{
	owned(dir_close) DIR *dir = opendir(state_dir);
	struct dirent *entry;
	int got;

	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_HOST, "%s", state_dir);
	while ((got = dir_next(dir, &entry)) > 0) {
		if ((str_starts(entry->d_name, "spool.") || strcmp(entry->d_name, "spool") == 0) &&
		    fold_named(db, dirfd(dir), entry->d_name, err) < 0)
			return -1;
	}
	return got < 0 ? error_errno(err, ERROR_HOST, "%s", state_dir) : 0;
}

/* Starts without an end whose supervisors are gone. */
static int find_gone(struct db *db, struct strv *ret_runs, struct error *err)
{
	owned(db_statement_release) struct db_statement *open = NULL;
	int got;

	if (db_prepare(db, "SELECT run_id,supervisor,started_ms FROM runs WHERE status IS NULL",
		       &open, err) < 0)
		return -1;
	while ((got = db_step(open, err)) > 0) {
		/* A second for rounding: a younger process has only got the number. */
		if (!process_is_of(db_int(open, 1), (uint64_t)db_int(open, 2), 1000))
			strv_add(ret_runs, db_text(open, 0));
	}
	return got;
}

static int name_killed(struct db *db, const struct strv *runs, struct error *err)
{
	owned(db_statement_release) struct db_statement *mark = NULL, *end = NULL;

	if (db_prepare(db, "UPDATE runs SET status='killed' WHERE run_id=? AND status IS NULL",
		       &mark, err) < 0 ||
	    db_prepare(db,
		       "INSERT OR IGNORE INTO journal(kind,key) "
		       "SELECT 2,run_id FROM runs WHERE run_id=? AND status IS NULL",
		       &end, err) < 0)
		return -1;
	for (size_t i = 0; i < runs->count; i++) {
		/* In this order: after a crash in between it is found here again. */
		db_bind_text(end, 1, runs->items[i]);
		db_bind_text(mark, 1, runs->items[i]);
		if (db_run(end, err) < 0 || db_run(mark, err) < 0)
			return -1;
	}
	return 0;
}

int fold_spools(struct db *db, const char *state_dir, struct error *err)
{
	owned(strv_done) struct strv gone = STRV_INIT;

	if (fold_all(db, state_dir, err) < 0 || find_gone(db, &gone, err) < 0)
		return -1;
	if (gone.count == 0)
		return 0;
	/* One may have written its end, and ended, since the spool was read. What it wrote before it was found gone is read now. */
	return fold_all(db, state_dir, err) < 0 ? -1 : name_killed(db, &gone, err);
}
