/* SPDX-License-Identifier: Apache-2.0 */
/* Retention: what goes is packed, archived, and only then removed. */
#include "app/archive/janitor.h"

#include "app/archive/pack.h"
#include "app/record/history.h"
#include "app/record/log_room.h"
#include "app/sandbox/gc_rows.h"
#include "app/stage/approval.h"
#include "app/stage/stage.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A sandbox that was promoted may have to be explained for so long. */
#define PROMOTED_MS (INT64_C(7) * 24 * 3600 * 1000)

struct janitor {
	const struct janitor_wish *wish;
	char *state_dir;
	struct history *history;
	struct archive_self self;
	struct archive_place *place;
	struct pack *pack;	/* NULL: nothing is packed yet */
	struct strv runs, logs; /* in the pack; removed once that is safe */
	uint64_t *log_sizes;	/* of which so much is in the pack */
	uint64_t run_count, log_count, log_bytes, stored;
	uint64_t left_count; /* runs that no archive would give back */
	struct error left_why;
	struct strv pins, held;
};

static void janitor_done(struct janitor *janitor)
{
	pack_release(&janitor->pack);
	archive_place_release(&janitor->place);
	archive_self_done(&janitor->self);
	history_release(&janitor->history);
	strv_done(&janitor->runs);
	strv_done(&janitor->logs);
	free_ptr(&janitor->log_sizes);
	strv_done(&janitor->pins);
	strv_done(&janitor->held);
	free_ptr(&janitor->state_dir);
}

/* A question to a person that has no answer yet; a bundle with a stage that it has not entered. */
static bool is_waiting(const struct value *row)
{
	const char *state = value_get_text(row, "state");
	const struct value *stages = value_get(row, "stages");

	if (state)
		return strcmp(state, "pending") == 0;
	for (size_t i = 0; stages && stages->kind == VALUE_LIST && i < stages->many.count; i++) {
		state = value_get_text(stages->many.items[i], "state");
		if (state && strcmp(state, "waiting") == 0)
			return true;
	}
	return false;
}

/* By their names in front of an @. */
static void hold_waiting(struct janitor *janitor, const struct value *rows)
{
	for (size_t i = 0; i < rows->many.count; i++) {
		const char *name = value_get_text(rows->many.items[i], "sandbox");

		if (name && is_waiting(rows->many.items[i]))
			strv_take(&janitor->held, xstrndup(name, strcspn(name, "@")));
	}
}

/* Sandboxes that are pinned, and those that wait for a person. */
static int find_held(struct janitor *janitor, struct error *err)
{
	owned(value_release) struct value *asks = NULL;
	owned(value_release) struct value *bundles = NULL;

	if (approval_list(NULL, &asks, err) < 0 || app_stage_status(NULL, &bundles, err) < 0)
		return -1;
	strv_copy(&janitor->held, &janitor->pins);
	hold_waiting(janitor, asks);
	hold_waiting(janitor, bundles);
	strv_sort(&janitor->held);
	return 0;
}

/* One that has grown beyond its SIZES, what is no file, and what another process has removed meanwhile is passed over. */
static int remove_logs(struct janitor *janitor, const struct strv *names, const uint64_t *sizes,
		       struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/logs", janitor->state_dir);
	owned(fd_close) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	for (size_t i = 0; i < names->count; i++) {
		int status = fstatat(fd, names->items[i], &st, AT_SYMLINK_NOFOLLOW);

		if (status == 0 &&
		    (S_ISDIR(st.st_mode) || (sizes && (uint64_t)st.st_size != sizes[i])))
			continue;
		if (status == 0)
			status = unlinkat(fd, names->items[i], 0);
		if (status < 0 && errno == ENOENT)
			continue;
		if (status < 0)
			return error_errno(err, ERROR_HOST, "cannot remove '%s/%s'", path,
					   names->items[i]);
		janitor->log_count++;
		janitor->log_bytes += (uint64_t)st.st_blocks * 512;
	}
	return 0;
}

static int remove_runs(struct janitor *janitor, const struct strv *ids, struct error *err)
{
	if (history_forget(janitor->history, ids->items, ids->count, err) < 0)
		return -1;
	janitor->run_count += ids->count;
	return 0;
}

/* What is packed goes to the archive; then, and not before, it goes from here. */
static int finish_pack(struct janitor *janitor, struct error *err)
{
	if (!janitor->pack)
		return 0;
	if (pack_seal(janitor->pack, &janitor->stored, err) < 0 ||
	    remove_logs(janitor, &janitor->logs, janitor->log_sizes, err) < 0 ||
	    remove_runs(janitor, &janitor->runs, err) < 0)
		return -1;
	pack_release(&janitor->pack);
	strv_done(&janitor->runs);
	strv_done(&janitor->logs);
	return 0;
}

static int need_pack(struct janitor *janitor, struct error *err)
{
	if (janitor->pack && pack_is_full(janitor->pack) && finish_pack(janitor, err) < 0)
		return -1;
	return janitor->pack ? 0 : pack_open(janitor->place, &janitor->self, &janitor->pack, err);
}

/* What a restore would refuse stays here. */
static int pack_run(struct janitor *janitor, const char *id, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	bool is_there;

	if (!archive_is_id(id))
		(void)error_set(err, ERROR_INPUT, "a run without an id of its kind");
	else if (history_run_pack(janitor->history, id, &text, &is_there, err) == 0)
		err->code = ERROR_NONE;
	if (err->code == ERROR_INPUT) {
		janitor->left_count++;
		janitor->left_why = *err;
		return 0;
	}
	if (err->code != ERROR_NONE)
		return -1;
	if (!is_there)
		return 0;
	if (need_pack(janitor, err) < 0)
		return -1;
	pack_begin(janitor->pack, ARCHIVE_RUN, id);
	if (pack_add(janitor->pack, text.data, text.len, err) < 0)
		return -1;
	(void)pack_end(janitor->pack);
	strv_add(&janitor->runs, id);
	return 0;
}

/* What is no run's output, or no file, is neither archived nor removed. */
static int pack_log(struct janitor *janitor, const char *name, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/logs/%s", janitor->state_dir, name);
	owned(fd_close) int fd = -1;

	if (!archive_is_id(name))
		return 0;
	fd = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);
	if (fd < 0)
		return errno == ENOENT || file_is_other_kind(errno)
			       ? 0
			       : error_errno(err, ERROR_HOST, "%s", path);
	if (need_pack(janitor, err) < 0)
		return -1;
	pack_begin(janitor->pack, ARCHIVE_LOG, name);
	if (pack_add_fd(janitor->pack, fd, err) < 0)
		return -1;
	janitor->log_sizes =
		xrealloc(janitor->log_sizes, janitor->logs.count + 1, sizeof(uint64_t));
	janitor->log_sizes[janitor->logs.count] = pack_end(janitor->pack);
	strv_add(&janitor->logs, name);
	return 0;
}

/* Output first: a run whose output is gone is complete in itself, the other way round it is not. */
static int archive_all(struct janitor *janitor, const struct history_going *going,
		       struct error *err)
{
	struct archive_address address = { .url = janitor->wish->archive,
					   .environ = janitor->wish->environ,
					   .is_written = true };

	address.drafts = janitor->self.drafts;
	if (archive_place_open(&address, &janitor->place, err) < 0)
		return -1;
	for (size_t i = 0; i < going->logs.count; i++)
		if (pack_log(janitor, going->logs.items[i], err) < 0)
			return -1;
	for (size_t i = 0; i < going->runs.count; i++)
		if (pack_run(janitor, going->runs.items[i], err) < 0)
			return -1;
	return finish_pack(janitor, err);
}

static int remove_all(struct janitor *janitor, const struct history_going *going, struct error *err)
{
	return remove_logs(janitor, &going->logs, NULL, err) < 0
		       ? -1
		       : remove_runs(janitor, &going->runs, err);
}

static void report_left(const struct janitor *janitor, struct value *answer)
{
	owned(free_ptr) char *what = xasprintf("%" PRIu64 " runs", janitor->left_count);
	owned(free_ptr) char *detail = xasprintf(
		"stay here: the archive could not give them back (%s)", janitor->left_why.text);

	gc_add_row(answer, "history", what, detail);
}

static void report(const struct janitor *janitor, struct value *answer)
{
	const struct janitor_wish *wish = janitor->wish;
	owned(free_ptr) char *what = NULL, *detail = NULL;

	if (janitor->left_count)
		report_left(janitor, answer);
	if (!janitor->run_count && !janitor->log_count)
		return;
	what = xasprintf("%" PRIu64 " runs, %" PRIu64 " logs of %" PRIu64 " bytes",
			 janitor->run_count, janitor->log_count, janitor->log_bytes);
	if (wish->archive && !wish->is_dry)
		detail = xasprintf("beyond the age or size that is kept; now in the archive %s, in "
				   "%" PRIu64 " bytes",
				   wish->archive, janitor->stored);
	else
		detail = xasprintf("%sbeyond the age or size that is kept%s%s",
				   wish->is_dry ? "would go: " : "",
				   wish->archive ? "; to the archive " : "",
				   wish->archive ? wish->archive : "");
	gc_add_row(answer, "history", what, detail);
}

static int clean(struct janitor *janitor, struct error *err)
{
	owned(history_going_done) struct history_going going = { STRV_INIT, STRV_INIT, 0 };
	const struct janitor_wish *wish = janitor->wish;
	struct history_bounds bounds = wish->history;

	bounds.pins = &janitor->pins;
	bounds.sandboxes = &janitor->held;
	bounds.promoted_ms = clock_epoch_ms() - PROMOTED_MS;
	if (history_going(janitor->history, &bounds, &going, err) < 0)
		return -1;
	if (wish->is_dry) {
		janitor->run_count = going.runs.count;
		janitor->log_count = going.logs.count;
		janitor->log_bytes = going.log_bytes;
		return 0;
	}
	if (!going.runs.count && !going.logs.count)
		return 0;
	return (wish->archive ? archive_all : remove_all)(janitor, &going, err);
}

/* From now on runs leave the bounds of kept output to gc, or see to them again. */
static int mark_archived(const struct janitor *janitor, struct error *err)
{
	owned(free_ptr) char *dir = xasprintf("%s/archive", janitor->state_dir);
	owned(free_ptr) char *mark = xasprintf("%s/" LOG_ARCHIVED, janitor->state_dir);
	owned(fd_close) int fd = -1;

	if (!janitor->wish->archive) {
		(void)unlink(mark);
		return 0;
	}
	if (dir_make_all(dir) == 0)
		fd = open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? error_errno(err, ERROR_HOST, "cannot make '%s'", mark) : 0;
}

int app_retain(const struct janitor_wish *wish, struct value *answer, struct error *err)
{
	owned(janitor_done) struct janitor janitor = { .wish = wish, .self.lock_fd = -1 };
	int status;

	janitor.state_dir = app_state_dir(err);
	/* The lock first: what is pinned while this works would be missed. */
	if (!janitor.state_dir ||
	    (wish->archive && !wish->is_dry &&
	     archive_self_open(janitor.state_dir, &janitor.self, err) < 0) ||
	    app_history(&janitor.history, err) < 0 ||
	    archive_pins_read(janitor.state_dir, &janitor.pins, err) < 0 ||
	    find_held(&janitor, err) < 0 || (!wish->is_dry && mark_archived(&janitor, err) < 0))
		return -1;
	status = clean(&janitor, err);
	report(&janitor, answer);
	return status;
}
