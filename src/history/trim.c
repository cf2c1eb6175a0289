/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping the history in bounds: by age, by number, and by the bytes of kept output. */
#include "history/trim.h"

#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/text/clean_path.h"
#include "history/parts.h"

#include <stdlib.h>
#include <string.h>

/* What of a run decides whether it stays: asked for runs, and for the run of a log. */
struct facts {
	const char *workspace, *sandbox;
	int64_t promoted; /* its sandbox was, since the time in question */
};

void history_going_done(struct history_going *going)
{
	strv_done(&going->runs);
	strv_done(&going->logs);
}

static const struct history_rule *find_rule(const struct history_bounds *bounds,
					    const char *workspace)
{
	const struct history_rule *best = NULL;

	for (size_t i = 0; workspace && i < bounds->rule_count; i++) {
		const struct history_rule *rule = &bounds->rules[i];

		if (path_is_within(workspace, rule->path) &&
		    (!best || strlen(rule->path) > strlen(best->path)))
			best = rule;
	}
	return best;
}

static bool is_held(const struct history_bounds *bounds, const char *run_id,
		    const struct facts *facts)
{
	return (bounds->pins && strv_has_sorted(bounds->pins, run_id)) ||
	       (facts->sandbox && bounds->sandboxes &&
		strv_has_sorted(bounds->sandboxes, facts->sandbox)) ||
	       (bounds->promoted_ms && facts->promoted);
}

/* Whether what has the id of a run is older than AGE_MS, 0 for any age: ids begin with their time. */
static bool is_older(const char *run_id, uint64_t now, uint64_t age_ms)
{
	static const unsigned char first[ID_RUN_RANDOM];
	char id[ID_RUN_SIZE];

	if (!age_ms || age_ms >= now)
		return false;
	id_run_format(now - age_ms, first, id);
	return strcmp(run_id, id) < 0;
}

#define PROMOTED_SQL \
	"EXISTS(SELECT 1 FROM events WHERE kind='promote' AND sandbox=runs.sandbox AND at_ms>=?1)"

static int find_runs(struct history *history, const struct history_bounds *bounds, uint64_t now,
		     struct strv *ret_runs, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	/* The newest ROWS are counted off from the other end. */
	if (db_prepare(history->db,
		       "SELECT run_id,workspace,sandbox," PROMOTED_SQL ",run_id<ifnull((SELECT "
		       "run_id FROM runs ORDER BY run_id DESC LIMIT 1 OFFSET ?2),''),started_ms "
		       "FROM runs"
		       " WHERE status IS NOT NULL ORDER BY run_id",
		       &row, err) < 0)
		return -1;
	db_bind_int(row, 1, (int64_t)bounds->promoted_ms);
	db_bind_int(row, 2, bounds->rows ? (int64_t)bounds->rows - 1 : INT64_MAX);
	while ((got = db_step(row, err)) > 0) {
		const char *id = db_text(row, 0);
		const struct facts facts = { db_text(row, 1), db_text(row, 2), db_int(row, 3) };
		const struct history_rule *rule = find_rule(bounds, facts.workspace);
		uint64_t age = rule && rule->runs_ms ? (uint64_t)rule->runs_ms : bounds->age_ms;
		bool is_old = age && age < now && db_int(row, 5) < (int64_t)(now - age);

		if ((is_old || db_int(row, 4)) && !is_held(bounds, id, &facts))
			strv_add(ret_runs, id);
	}
	return got;
}

/* Output goes with its run, or earlier. That of a run which is not on record any more goes by its own age. */
static bool log_goes(const struct history_bounds *bounds, const char *run_id,
		     const struct facts *facts, uint64_t now, bool is_over)
{
	const struct history_rule *rule = find_rule(bounds, facts->workspace);
	uint64_t runs = rule && rule->runs_ms ? (uint64_t)rule->runs_ms : bounds->age_ms;
	uint64_t logs = rule && rule->logs_ms ? (uint64_t)rule->logs_ms : bounds->log_age_ms;

	return (is_over || is_older(run_id, now, runs) || is_older(run_id, now, logs)) &&
	       !is_held(bounds, run_id, facts);
}

static int find_logs(struct history *history, const struct history_bounds *bounds, uint64_t now,
		     struct history_going *going, struct error *err)
{
	owned(log_files_done) struct log_files files = { .dir_fd = -1 };
	owned(db_statement_release) struct db_statement *row = NULL;
	uint64_t bytes, count;

	log_files_read(history->state_dir, &files);
	bytes = files.bytes;
	count = files.count;
	if (db_prepare(history->db,
		       "SELECT workspace,sandbox," PROMOTED_SQL " FROM runs WHERE run_id=?2", &row,
		       err) < 0)
		return -1;
	for (size_t i = 0; i < files.count; i++) {
		const struct log_file *file = &files.items[i];
		bool is_over = (bounds->log_bytes && bytes > bounds->log_bytes) ||
			       (bounds->log_count && count > bounds->log_count);
		struct facts facts = { 0 };
		int got;

		db_bind_int(row, 1, (int64_t)bounds->promoted_ms);
		db_bind_text(row, 2, file->name);
		got = db_step(row, err);
		if (got < 0)
			return -1;
		if (got > 0)
			facts = (struct facts){ db_text(row, 0), db_text(row, 1), db_int(row, 2) };
		if ((log_goes(bounds, file->name, &facts, now, is_over) ||
		     strv_has_sorted(&going->runs, file->name)) &&
		    !log_files_is_live(&files, file->name)) {
			strv_add(&going->logs, file->name);
			going->log_bytes += file->bytes;
			bytes -= file->bytes;
			count--;
		}
		db_reset(row);
	}
	return 0;
}

int history_going(struct history *history, const struct history_bounds *bounds,
		  struct history_going *ret_going, struct error *err)
{
	uint64_t now = clock_epoch_ms();

	*ret_going = (struct history_going){ STRV_INIT, STRV_INIT, 0 };
	if (((bounds->age_ms || bounds->rows || bounds->rule_count) &&
	     find_runs(history, bounds, now, &ret_going->runs, err) < 0) ||
	    find_logs(history, bounds, now, ret_going, err) < 0) {
		history_going_done(ret_going);
		return -1;
	}
	return 0;
}

int history_begin(struct history *history, struct error *err)
{
	return db_begin(history->db, err);
}

int history_end(struct history *history, bool is_kept, struct error *err)
{
	if (is_kept && db_commit(history->db, err) == 0)
		return 0;
	db_rollback(history->db);
	return is_kept ? -1 : 0;
}

static int forget_from(struct history *history, const char *sql, char *const *ids, size_t count,
		       struct error *err)
{
	owned(db_statement_release) struct db_statement *statement = NULL;

	if (db_prepare(history->db, sql, &statement, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		db_bind_text(statement, 1, ids[i]);
		if (db_run(statement, err) < 0)
			return -1;
	}
	return 0;
}

int history_forget(struct history *history, char *const *ids, size_t count, struct error *err)
{
	static const char *const statements[] = {
		"DELETE FROM runs WHERE run_id=?",
		"DELETE FROM results WHERE run_id=?",
		"DELETE FROM denials WHERE run_id=?",
		"DELETE FROM samples WHERE run_id=?",
		"DELETE FROM journal WHERE kind=1 AND key=?",
		"DELETE FROM journal WHERE kind=2 AND key=?",
	};
	int status = 0;

	if (count == 0)
		return 0;
	if (db_begin(history->db, err) < 0)
		return -1;
	for (size_t i = 0; status == 0 && i < sizeof(statements) / sizeof(statements[0]); i++)
		status = forget_from(history, statements[i], ids, count, err);
	return history_end(history, status == 0, err) < 0 ? -1 : status;
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
	log_files_trim(&files, bounds, removed);
	return 0;
}
