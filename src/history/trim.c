/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the history in bounds: by age, by number, and by the bytes of kept output. */
#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "history/history.h"
#include "history/log_files.h"
#include "history/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first run that stays: everything that sorts before it goes. "" when all do. */
static int find_first_kept(struct history *history, const struct history_bounds *bounds,
			   struct str *ret_id, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	uint64_t now = clock_epoch_ms();
	uint64_t since = bounds->age_ms && bounds->age_ms < now ? now - bounds->age_ms : 0;
	int got;

	/* The oldest of the newest ROWS that are young enough. */
	if (db_prepare(history->db,
		       "SELECT min(run_id) FROM (SELECT run_id,started_ms FROM runs ORDER BY run_id"
		       " DESC LIMIT ?1) WHERE started_ms>=?2",
		       &row, err) < 0)
		return -1;
	db_bind_int(row, 1, bounds->rows ? (int64_t)bounds->rows : -1);
	db_bind_int(row, 2, (int64_t)since);
	got = db_step(row, err);
	if (got < 0)
		return -1;
	if (got > 0 && db_text(row, 0))
		str_add(ret_id, db_text(row, 0));
	else
		str_add(ret_id, "~");
	return 0;
}

static int delete_before(struct history *history, const char *sql, const char *id,
			 int64_t *ret_count, struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (db_prepare(history->db, sql, &statement, err) < 0)
		return -1;
	db_bind_text(statement, 1, id);
	if (db_run(statement, err) < 0)
		return -1;
	*ret_count = db_changes(history->db);
	return 0;
}

static int count_rows(struct history *history, const char *id, int64_t *ret_runs, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;

	if (db_prepare(history->db,
		       "SELECT count(*) FROM runs WHERE run_id<? AND status IS NOT NULL", &row,
		       err) < 0)
		return -1;
	db_bind_text(row, 1, id);
	if (db_step(row, err) < 0)
		return -1;
	*ret_runs = db_int(row, 0);
	return 0;
}

/* The first output that stays: ids of runs begin with their time. */
static void find_first_log(const struct history_bounds *bounds, struct str *first_kept)
{
	static const unsigned char first[ID_RUN_RANDOM];
	uint64_t now = clock_epoch_ms();
	char id[ID_RUN_SIZE];

	if (!bounds->log_age_ms || bounds->log_age_ms >= now)
		return;
	id_run_format(now - bounds->log_age_ms, first, id);
	if (strcmp(id, str_cstr(first_kept)) > 0) {
		str_clear(first_kept);
		str_add(first_kept, id);
	}
}

static int delete_rows(struct history *history, const char *id, int64_t *ret_runs,
		       struct error *err)
{
	int64_t others;

	if (db_begin(history->db, err) < 0)
		return -1;
	/* What is under way stays, however old. */
	if (delete_before(history, "DELETE FROM runs WHERE run_id<? AND status IS NOT NULL", id,
			  ret_runs, err) < 0 ||
	    delete_before(history, "DELETE FROM results WHERE run_id<?", id, &others, err) < 0 ||
	    delete_before(history, "DELETE FROM denials WHERE run_id<?", id, &others, err) < 0 ||
	    delete_before(history, "DELETE FROM samples WHERE run_id<?", id, &others, err) < 0 ||
	    delete_before(history, "DELETE FROM journal WHERE kind<3 AND key<?", id, &others, err) <
		    0) {
		db_rollback(history->db);
		return -1;
	}
	return db_commit(history->db, err);
}

int history_trim(struct history *history, const struct history_bounds *bounds,
		 struct value **ret_removed, struct error *err)
{
	owned(log_files_done) struct log_files files = { .dir_fd = -1 };
	owned(str_done) struct str first_kept = STR_INIT;
	const struct log_bounds log_bounds = { bounds->log_bytes, bounds->log_count,
					       bounds->is_dry };
	struct log_removed removed = { 0 };
	int64_t runs = 0;

	if (find_first_kept(history, bounds, &first_kept, err) < 0)
		return -1;
	if (!bounds->rows && !bounds->age_ms)
		str_clear(&first_kept);
	if (first_kept.len &&
	    (bounds->is_dry ? count_rows : delete_rows)(history, first_kept.data, &runs, err) < 0)
		return -1;
	find_first_log(bounds, &first_kept);
	log_files_read(history->state_dir, &files);
	log_files_trim(&files, str_cstr(&first_kept), &log_bounds, &removed);
	*ret_removed = value_new_map();
	value_add(*ret_removed, "runs", value_new_int(runs));
	value_add(*ret_removed, "logs", value_new_int((int64_t)removed.count));
	value_add(*ret_removed, "bytes", value_new_int((int64_t)removed.bytes));
	return 0;
}

/* Moves what is not OWNER's out of FILES. */
static int select_owner(struct history *history, const char *owner, struct log_files *files,
			struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	size_t kept = 0;

	if (db_prepare(history->db, "SELECT count(*) FROM runs WHERE run_id=? AND owner=?", &row,
		       err) < 0)
		return -1;
	db_bind_text(row, 2, owner);
	for (size_t i = 0; i < files->count; i++) {
		bool is_theirs;

		db_bind_text(row, 1, files->items[i].name);
		if (db_step(row, err) < 0)
			return -1;
		is_theirs = db_int(row, 0) > 0;
		/* The one row is read: the second step makes the statement ready for the next name. */
		if (db_step(row, err) < 0)
			return -1;
		if (is_theirs) {
			struct log_file moved = files->items[kept];

			files->items[kept++] = files->items[i];
			files->items[i] = moved;
		} else {
			files->bytes -= files->items[i].bytes;
		}
	}
	for (size_t i = kept; i < files->count; i++)
		free(files->items[i].name);
	files->count = kept;
	return 0;
}

int history_trim_owner(struct history *history, const char *owner, const struct log_bounds *bounds,
		       struct log_removed *removed, struct error *err)
{
	owned(log_files_done) struct log_files files = { .dir_fd = -1 };

	log_files_read(history->state_dir, &files);
	if (select_owner(history, owner, &files, err) < 0)
		return -1;
	log_files_trim(&files, "", bounds, removed);
	return 0;
}
