/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor found wrong mended, and taken back. */
#include "app/doctor/fix.h"

#include "app/config/own_list.h"
#include "app/doctor/fix_command.h"
#include "app/run/run_request.h"
#include "base/core/own.h"
#include "base/core/utf8.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define RECORD "doctor"
#define FILE_BYTES ((size_t)64 << 10)

struct mender {
	struct host host;
	struct fix_way way;
	int dir_fd;
	struct value
		*record; /* list of {id, name, steps: [{file, text, before} or {do, undo}, done]} */
};

static void mender_done(struct mender *mender)
{
	value_free(mender->record);
	host_done(&mender->host);
	fd_close(&mender->dir_fd);
}

/* The lock on the directory lasts as long as MENDER. */
static int mender_open(struct mender *mender, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	const char *dir;

	if (host_read_caller(&mender->host, err) < 0)
		return -1;
	dir = mender->host.state_dir;
	mender->dir_fd = dir_make_all(dir) < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mender->dir_fd < 0 || flock(mender->dir_fd, LOCK_EX) < 0 ||
	    own_list_read(mender->dir_fd, RECORD, &text) < 0)
		return error_errno(err, ERROR_HOST, "no record can be kept in %s", dir);
	if (text.len == 0)
		mender->record = value_new_list();
	else if (json_read(text.data, text.len, NULL, &mender->record, err) < 0)
		return error_context(err, "%s/" RECORD, dir);
	if (mender->record->kind != VALUE_LIST)
		return error_set(err, ERROR_INPUT, "%s/" RECORD " is damaged", dir);
	fix_way_find(&mender->way);
	return 0;
}

static int write_record(const struct mender *mender, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, mender->record, 0);
	return own_list_replace(mender->dir_fd, RECORD, &text) < 0
		       ? error_errno(err, ERROR_HOST, "%s/" RECORD, mender->host.state_dir)
		       : 0;
}

/* What is in the file; *RET_TEXT is NULL where there is none. */
static int read_file(const char *path, char **ret_text, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, NULL);

	*ret_text = NULL;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fd_read_all(fd, FILE_BYTES, &text) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (memchr(str_cstr(&text), '\0', text.len) || !utf8_valid(str_cstr(&text), text.len))
		return error_set(err, ERROR_HOST, "%s holds what is no text", path);
	*ret_text = str_detach(&text);
	return 0;
}

/* Appends the command of STEP: 1, or 0 where there is nothing to do. *RET_BEFORE, of a file: what is in it. */
static int forth(const struct fix_way *way, const struct value *step, struct str *command,
		 char **ret_before, struct error *err)
{
	const char *path = value_get_text(step, "file"), *text = value_get_text(step, "text");
	const char *words = value_get_text(step, "do");

	if (words)
		str_addf(command, "%s%s", way->prefix, words);
	if (!path)
		return words != NULL;
	if (read_file(path, ret_before, err) < 0)
		return -1;
	if (str_same(*ret_before, text))
		return 0;
	fix_command_put(way, path, text, command);
	return 1;
}

/* The same for taking STEP back. *RET_IS_LEFT: others changed the file since, and it stays. */
static int back(const struct fix_way *way, const struct value *step, struct str *command,
		bool *ret_is_left, struct error *err)
{
	const char *path = value_get_text(step, "file"), *words = value_get_text(step, "undo");
	const char *text = value_get_text(step, "text"), *before = value_get_text(step, "before");
	const char *dir = value_get_text(step, "dir");
	bool is_cut_short = false;
	owned(free_ptr) char *now = NULL;

	*ret_is_left = false;
	/* Others removed it: there is nothing to take back, now and later. */
	if (dir && access(dir, F_OK) < 0)
		return 0;
	if (words)
		str_addf(command, "%s%s", way->prefix, words);
	if (!path || !text)
		return words != NULL;
	if (read_file(path, &now, err) < 0)
		return -1;
	if (now ? str_same(now, before) : !before)
		return 0;
	/* A command that was killed may have written half of it. */
	if (now && !value_is_true(step, "done"))
		is_cut_short = strncmp(text, now, strlen(now)) == 0;
	*ret_is_left = !is_cut_short && !str_same(now, text);
	if (*ret_is_left)
		return 0;
	fix_command_put(way, path, before, command);
	return 1;
}

static void drop_last(struct value *list)
{
	value_free(list->many.items[--list->many.count]);
}

static void drop_at(struct value *list, size_t at)
{
	value_free(list->many.items[at]);
	list->many.count--;
	memmove(&list->many.items[at], &list->many.items[at + 1],
		(list->many.count - at) * sizeof(struct value *));
}

int app_fixes(struct value **ret_list, bool *ret_can_run, struct error *err)
{
	owned(value_release) struct value *answer = NULL, *list = NULL;
	owned(mender_done) struct mender mender = { .dir_fd = -1 };

	/* Without a record nothing would be changed: that is said before anybody is asked. */
	if (mender_open(&mender, err) < 0 || app_doctor(&answer, err) < 0)
		return -1;
	*ret_can_run = mender.way.can_run;
	list = value_take(answer, "fixes");
	for (size_t i = 0; i < list->many.count; i++) {
		struct value *fix = list->many.items[i];
		const struct value *steps = value_get(fix, "steps");
		struct value *commands = value_add(fix, "commands", value_new_list());

		for (size_t j = 0; j < steps->many.count; j++) {
			owned(str_done) struct str command = STR_INIT;
			owned(free_ptr) char *before = NULL;
			int count =
				forth(&mender.way, steps->many.items[j], &command, &before, err);

			if (count < 0)
				return -1;
			if (count)
				value_append(commands, value_new_text(str_cstr(&command)));
		}
	}
	*ret_list = list;
	list = NULL;
	return 0;
}

/* A copy of STEP with what was there BEFORE, which is owned here. */
static struct value *record_step(struct value *steps, const struct value *step, const char *before)
{
	static const char *const keys[] = { "file", "text", "do", "undo", "dir" };
	struct value *kept = value_append(steps, value_new_map());

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *text = value_get_text(step, keys[i]);

		if (text)
			value_add(kept, keys[i], value_new_text(text));
	}
	value_add(kept, "before", value_new_text(before));
	return kept;
}

static int mend_step(const struct mender *mender, struct value *steps, const struct value *step,
		     struct error *err)
{
	const char *path = value_get_text(step, "file");
	owned(str_done) struct str command = STR_INIT;
	owned(free_ptr) char *before = NULL, *now = NULL;
	int count = forth(&mender->way, step, &command, &before, err);
	struct value *kept;

	if (count < 0 || (count == 0 && path))
		return count;
	kept = record_step(steps, step, before);
	if (count &&
	    (write_record(mender, err) < 0 || fix_command_run(str_cstr(&command), err) < 0))
		return -1;
	if (path && read_file(path, &now, err) < 0)
		return -1;
	if (path && !str_same(now, value_get_text(step, "text")))
		return error_set(err, ERROR_HOST, "%s did not take what was written", path);
	value_add(kept, "done", value_new_bool(true));
	return write_record(mender, err);
}

/* What failed before it changed anything is not on record. */
static void forget_failed(const struct mender *mender)
{
	struct value *fix = mender->record->many.items[mender->record->many.count - 1];
	struct value *steps = value_get(fix, "steps");
	struct error ignored;

	while (steps->many.count > 0) {
		const struct value *last = steps->many.items[steps->many.count - 1];
		owned(str_done) struct str command = STR_INIT;
		bool is_left;
		int count = back(&mender->way, last, &command, &is_left, &ignored);

		if (count != 0 && (value_get(last, "file") || value_is_true(last, "done")))
			break;
		drop_last(steps);
	}
	if (steps->many.count == 0)
		drop_last(mender->record);
	(void)write_record(mender, &ignored);
}

int app_fix(const struct value *fix, struct error *err)
{
	owned(mender_done) struct mender mender = { .dir_fd = -1 };
	const struct value *wanted = value_get(fix, "steps");
	int64_t id = 1;

	if (mender_open(&mender, err) < 0)
		return -1;
	for (size_t i = 0; i < mender.record->many.count; i++) {
		int64_t taken = value_int_of(mender.record->many.items[i], "id");

		if (taken >= id)
			id = taken + 1;
	}
	struct value *kept = value_append(mender.record, value_new_map());
	struct value *steps;

	value_add(kept, "id", value_new_int(id));
	value_add(kept, "name", value_new_text(value_get_text(fix, "name")));
	steps = value_add(kept, "steps", value_new_list());
	for (size_t i = 0; i < wanted->many.count; i++) {
		if (mend_step(&mender, steps, wanted->many.items[i], err) < 0) {
			forget_failed(&mender);
			return -1;
		}
	}
	return 0;
}

/* One row for what is on record. */
static int describe(const struct mender *mender, const struct value *kept, struct value *list,
		    struct error *err)
{
	const struct value *steps = value_get(kept, "steps");
	struct value *row = value_append(list, value_new_map());
	struct value *commands, *left;

	value_add(row, "id", value_new_int(value_int_of(kept, "id")));
	value_add(row, "name", value_new_text(value_get_text(kept, "name")));
	commands = value_add(row, "commands", value_new_list());
	left = value_add(row, "left", value_new_list());
	for (size_t i = value_list_count(kept, "steps"); i-- > 0;) {
		const struct value *step = steps->many.items[i];
		owned(str_done) struct str command = STR_INIT;
		bool is_left;
		int count = back(&mender->way, step, &command, &is_left, err);

		if (count < 0)
			return -1;
		if (count)
			value_append(commands, value_new_text(str_cstr(&command)));
		if (is_left)
			value_append(left, value_new_text(value_get_text(step, "file")));
	}
	return 0;
}

int app_fixes_done(struct value **ret_list, bool *ret_can_run, struct error *err)
{
	owned(mender_done) struct mender mender = { .dir_fd = -1 };
	owned(value_release) struct value *list = value_new_list();

	if (mender_open(&mender, err) < 0)
		return -1;
	*ret_can_run = mender.way.can_run;
	for (size_t i = mender.record->many.count; i-- > 0;) {
		if (describe(&mender, mender.record->many.items[i], list, err) < 0)
			return -1;
	}
	*ret_list = list;
	list = NULL;
	return 0;
}

static int undo_step(const struct mender *mender, const struct value *step, struct error *err)
{
	owned(str_done) struct str command = STR_INIT;
	bool is_left;
	int count = back(&mender->way, step, &command, &is_left, err);

	if (count <= 0 || fix_command_run(str_cstr(&command), err) == 0)
		return count < 0 ? -1 : 0;
	/* A command that may never have run need not be taken back. */
	return value_get(step, "file") || value_is_true(step, "done") ? -1 : 0;
}

int app_fix_undo(int64_t id, struct error *err)
{
	owned(mender_done) struct mender mender = { .dir_fd = -1 };
	size_t at = 0;

	if (mender_open(&mender, err) < 0)
		return -1;
	while (at < mender.record->many.count &&
	       value_int_of(mender.record->many.items[at], "id") != id)
		at++;
	if (at == mender.record->many.count)
		return error_set(err, ERROR_CONFLICT, "it was taken back meanwhile");
	struct value *kept = mender.record->many.items[at];

	while (value_list_count(kept, "steps") > 0) {
		struct value *steps = value_get(kept, "steps");

		if (undo_step(&mender, steps->many.items[steps->many.count - 1], err) < 0)
			return -1;
		drop_last(steps);
		if (write_record(&mender, err) < 0)
			return -1;
	}
	drop_at(mender.record, at);
	return write_record(&mender, err);
}
