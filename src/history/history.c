/* SPDX-License-Identifier: Apache-2.0 */
/* The history opened and asked: lists, single runs. */
#include "history/history.h"

#include "base/core/clock.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "history/fold.h"
#include "history/parts.h"
#include "history/schema.h"
#include "history/spool.h"
#include "observe/result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

int history_open(const char *state_dir, struct history **ret_history, struct error *err)
{
	owned(history_release) struct history *history = xcalloc(1, sizeof(*history));
	owned(free_ptr) char *path = xasprintf("%s/history.db", state_dir);
	owned(fd_close) int spool_fd = -1;

	history->state_dir = xstrdup(state_dir);
	/* Nothing ran yet: an empty history is an answer, too. */
	if (spool_open(state_dir, &spool_fd, err) < 0)
		return -1;
	fd_close(&spool_fd);
	if (db_open(path, &history->db, err) < 0 || schema_migrate(history->db, err) < 0 ||
	    fold_spools(history->db, state_dir, err) < 0)
		return -1;
	*ret_history = ptr_take(&history);
	return 0;
}

int history_refresh(struct history *history, struct error *err)
{
	return fold_spools(history->db, history->state_dir, err);
}

void history_close(struct history *history)
{
	if (!history)
		return;
	db_close(history->db);
	free(history->state_dir);
	free(history);
}

void history_release(struct history **slot)
{
	history_close(*slot);
	*slot = NULL;
}

static const char list_columns[] =
	"SELECT run_id,trace_id,sandbox,command,workspace,driver,status,exit_code,started_ms,"
	"duration_ms,cpu_ms,peak_memory,files,denials,owner FROM runs";

enum list_column {
	LIST_ID,
	LIST_TRACE,
	LIST_SANDBOX,
	LIST_COMMAND,
	LIST_WORKSPACE,
	LIST_DRIVER,
	LIST_STATUS,
	LIST_EXIT,
	LIST_STARTED,
	LIST_DURATION,
	LIST_CPU,
	LIST_MEMORY,
	LIST_FILES,
	LIST_DENIALS,
	LIST_OWNER,
};

struct value *history_number(struct db_statement *row, int column, bool is_real)
{
	if (db_is_null(row, column))
		return value_new_null();
	return is_real ? value_new_real(db_real(row, column)) : value_new_int(db_int(row, column));
}

struct value *history_time(int64_t epoch_ms)
{
	char text[32];

	time_format_utc((uint64_t)epoch_ms, text);
	return value_new_text(text);
}

struct value *history_words(const char *json)
{
	struct value *words = NULL;
	struct error ignored;

	if (!json || json_read(json, strlen(json), NULL, &words, &ignored) < 0)
		return value_new_list();
	return words;
}

static struct value *row_value(struct db_statement *row)
{
	struct value *run = value_new_map();
	const char *status = db_text(row, LIST_STATUS);

	value_add(run, "run_id", value_new_text(db_text(row, LIST_ID)));
	value_add(run, "trace_id", value_new_text(db_text(row, LIST_TRACE)));
	value_add(run, "sandbox", value_new_text(db_text(row, LIST_SANDBOX)));
	value_add(run, "command", history_words(db_text(row, LIST_COMMAND)));
	value_add(run, "workspace", value_new_text(db_text(row, LIST_WORKSPACE)));
	value_add(run, "driver", value_new_text(db_text(row, LIST_DRIVER)));
	value_add(run, "status", value_new_text(status ? status : "running"));
	value_add(run, "exit_code", history_number(row, LIST_EXIT, false));
	value_add(run, "started", history_time(db_int(row, LIST_STARTED)));
	value_add(run, "duration_ms", history_number(row, LIST_DURATION, true));
	value_add(run, "cpu_ms", history_number(row, LIST_CPU, true));
	value_add(run, "peak_memory_bytes", history_number(row, LIST_MEMORY, false));
	value_add(run, "files_changed", history_number(row, LIST_FILES, false));
	value_add(run, "denials", history_number(row, LIST_DENIALS, false));
	value_add(run, "owner", value_new_text(db_text(row, LIST_OWNER)));
	return run;
}

/* A pattern for LIKE that means TEXT to the letter, anywhere. */
static char *like_pattern(const char *text)
{
	struct str pattern = STR_INIT;

	str_add_char(&pattern, '%');
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			str_add_char(&pattern, '\\');
		str_add_char(&pattern, *text);
	}
	str_add_char(&pattern, '%');
	return str_detach(&pattern);
}

static void add_condition(struct str *sql, const char *condition)
{
	str_addf(sql, "%s%s", strstr(sql->data, " WHERE ") ? " AND " : " WHERE ", condition);
}

static void write_list_sql(const struct history_filter *filter, struct str *sql)
{
	str_add(sql, list_columns);
	/* What is under way has no status yet. */
	if (filter->status && strcmp(filter->status, "running") == 0)
		add_condition(sql, "status IS NULL");
	else if (filter->status)
		add_condition(sql, "status=?1");
	if (filter->sandbox)
		add_condition(sql, "sandbox=?2");
	if (filter->trace_id)
		add_condition(sql, "trace_id=?3");
	if (filter->text)
		add_condition(sql, "command LIKE ?4 ESCAPE '\\'");
	if (filter->since_ms)
		add_condition(sql, "started_ms>=?5");
	if (filter->owner)
		add_condition(sql, "owner=?6");
	if (filter->before)
		add_condition(sql, "run_id<?7");
	str_add(sql, " ORDER BY run_id DESC");
	if (filter->limit)
		str_addf(sql, " LIMIT %llu", (unsigned long long)filter->limit);
}

int history_list(struct history *history, const struct history_filter *filter,
		 struct value **ret_list, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(str_done) struct str sql = STR_INIT;
	owned(free_ptr) char *pattern = filter->text ? like_pattern(filter->text) : NULL;
	owned(value_release) struct value *list = value_new_list();
	int got;

	write_list_sql(filter, &sql);
	if (db_prepare(history->db, sql.data, &row, err) < 0)
		return -1;
	db_bind_text(row, 1, filter->status);
	db_bind_text(row, 2, filter->sandbox);
	db_bind_text(row, 3, filter->trace_id);
	db_bind_text(row, 4, pattern);
	db_bind_int(row, 5, (int64_t)filter->since_ms);
	db_bind_text(row, 6, filter->owner);
	db_bind_text(row, 7, filter->before);
	while ((got = db_step(row, err)) > 0)
		value_append(list, row_value(row));
	if (got < 0)
		return -1;
	*ret_list = ptr_take(&list);
	return 0;
}

int history_find(struct history *history, const char *id, const char *owner, char ret_id[static 27],
		 struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	char shown[STR_SHOWN_SIZE];
	int got;

	/* Ids are upper case; what follows one with the same beginning sorts before the beginning and a tilde. */
	if (db_prepare(history->db,
		       "SELECT run_id FROM runs WHERE run_id>=upper(?1) AND run_id<upper(?1)||'~'"
		       " AND (?2 IS NULL OR owner=?2) ORDER BY run_id LIMIT 2",
		       &row, err) < 0)
		return -1;
	db_bind_text(row, 1, id);
	db_bind_text(row, 2, owner);
	got = db_step(row, err);
	if (got < 0)
		return -1;
	if (got == 0 || !*id)
		return error_advise(err, ERROR_NOT_FOUND, "`aisbx history` lists them",
				    "no run '%s' in the history", str_shown(id, shown));
	(void)snprintf(ret_id, 27, "%s", db_text(row, 0));
	if (strlen(id) < strlen(ret_id) && db_step(row, err) > 0)
		return error_advise(err, ERROR_USAGE, "write more of it",
				    "several runs begin with '%s'", str_shown(id, shown));
	return 0;
}

int history_owned(struct history *history, const char *run_id, const char *owner, struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(history->db, "SELECT 1 FROM runs WHERE run_id=? AND owner=?", &row, err) < 0)
		return -1;
	db_bind_text(row, 1, run_id);
	db_bind_text(row, 2, owner);
	got = db_step(row, err);
	if (got == 0)
		return error_set(err, ERROR_NOT_FOUND, "no run '%s' of this owner", run_id);
	return got < 0 ? -1 : 0;
}

/* A run without a result: under way, or killed before it could say anything. */
static int show_unfinished(struct history *history, const char *run_id, struct value **ret_result,
			   struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	owned(free_ptr) char *sql = xasprintf("%s WHERE run_id=?", list_columns);

	if (db_prepare(history->db, sql, &row, err) < 0)
		return -1;
	db_bind_text(row, 1, run_id);
	if (db_step(row, err) != 1)
		return error_set(err, ERROR_NOT_FOUND, "no run '%s' in the history", run_id);
	*ret_result = row_value(row);
	return 0;
}

int history_show(struct history *history, const char *run_id, struct value **ret_result,
		 struct error *err)
{
	owned(db_statement_release) struct db_statement *row = NULL;
	int got;

	if (db_prepare(history->db, "SELECT body FROM results WHERE run_id=?", &row, err) < 0)
		return -1;
	db_bind_text(row, 1, run_id);
	got = db_step(row, err);
	if (got < 0)
		return -1;
	if (got == 0)
		return show_unfinished(history, run_id, ret_result, err);
	const char *body = db_text(row, 0);

	return json_read(body, strlen(body), NULL, ret_result, err);
}

int history_lock(const struct history *history, const char *name, const char *busy, int *ret_fd,
		 struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", history->state_dir, name);
	owned(fd_close) int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int status;

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open '%s'", path);
	while ((status = flock(fd, busy ? LOCK_EX | LOCK_NB : LOCK_EX)) < 0 && errno == EINTR)
		;
	if (status < 0 && errno == EWOULDBLOCK)
		return error_set(err, ERROR_BUSY, "%s", busy);
	if (status < 0)
		return error_errno(err, ERROR_HOST, "cannot lock '%s'", path);
	*ret_fd = fd_take(&fd);
	return 0;
}
