/* Keeping the history in bounds: by age, by number, and by the bytes of kept output. */
#include "base/clock.h"
#include "base/dir.h"
#include "base/own.h"
#include "base/str.h"
#include "history/history.h"
#include "history/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct log_file {
	char *name; /* the run's id: sorts by time */
	uint64_t bytes;
};

struct log_files {
	struct log_file *items;
	size_t count;
	uint64_t bytes;
	int dir_fd;
};

static void log_files_done(struct log_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].name);
	free(files->items);
	fd_close(&files->dir_fd);
}

static int by_name(const void *left, const void *right)
{
	const struct log_file *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static void log_files_read(const char *state_dir, struct log_files *ret_files)
{
	owned(free_ptr) char *path = xasprintf("%s/logs", state_dir);
	owned(dir_close) DIR *dir = opendir(path);
	struct dirent *entry;
	struct stat st;

	if (!dir)
		return;
	ret_files->dir_fd = fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 3);
	while (dir_next(dir, &entry) > 0) {
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ret_files->items =
			xrealloc(ret_files->items, ret_files->count + 1, sizeof(struct log_file));
		ret_files->items[ret_files->count++] =
			(struct log_file){ xstrdup(entry->d_name), (uint64_t)st.st_blocks * 512 };
		ret_files->bytes += (uint64_t)st.st_blocks * 512;
	}
	if (ret_files->count)
		qsort(ret_files->items, ret_files->count, sizeof(struct log_file), by_name);
}

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
	    delete_before(history, "DELETE FROM samples WHERE run_id<?", id, &others, err) < 0) {
		db_rollback(history->db);
		return -1;
	}
	return db_commit(history->db, err);
}

/* Oldest first: those of runs that are gone, then until the rest fits. */
static void delete_logs(struct log_files *files, const char *first_kept, uint64_t bound,
			uint64_t *ret_count, uint64_t *ret_bytes)
{
	uint64_t left = files->bytes;

	for (size_t i = 0; i < files->count; i++) {
		const struct log_file *file = &files->items[i];
		bool is_over = bound && left > bound;

		if (strcmp(file->name, first_kept) >= 0 && !is_over)
			break;
		if (unlinkat(files->dir_fd, file->name, 0) < 0)
			continue;
		left -= file->bytes;
		*ret_bytes += file->bytes;
		(*ret_count)++;
	}
}

int history_trim(struct history *history, const struct history_bounds *bounds,
		 struct value **ret_removed, struct error *err)
{
	owned(log_files_done) struct log_files files = { .dir_fd = -1 };
	owned(str_done) struct str first_kept = STR_INIT;
	uint64_t logs = 0, bytes = 0;
	int64_t runs = 0;

	if (find_first_kept(history, bounds, &first_kept, err) < 0)
		return -1;
	if (!bounds->rows && !bounds->age_ms)
		str_clear(&first_kept);
	if (first_kept.len && delete_rows(history, first_kept.data, &runs, err) < 0)
		return -1;
	log_files_read(history->state_dir, &files);
	delete_logs(&files, str_cstr(&first_kept), bounds->log_bytes, &logs, &bytes);
	*ret_removed = value_new_map();
	value_add(*ret_removed, "runs", value_new_int(runs));
	value_add(*ret_removed, "logs", value_new_int((int64_t)logs));
	value_add(*ret_removed, "bytes", value_new_int((int64_t)bytes));
	return 0;
}
