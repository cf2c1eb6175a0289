/* SPDX-License-Identifier: Apache-2.0 */
/* Taking back: all that is wanted is unpacked into one file and checked, then put where it was. */
#include "app/archive/archive_parts.h"

#include "app/record/history.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "history/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)256 << 10)
#define RECORD_MAX ((uint64_t)16 << 20)

/* Where in the file of all contents an item is. */
struct piece {
	enum archive_kind kind;
	char *id;
	uint64_t at, size;
};

struct restoring {
	struct reading reading;
	struct archive_draft all;
	uint64_t bytes;
	struct piece *pieces;
	size_t count;
	struct history *history;
	struct strv added; /* paths of files that this call has made */
	int64_t counts[ARCHIVE_KINDS];
};

static void restoring_done(struct restoring *restoring)
{
	for (size_t i = 0; i < restoring->count; i++)
		free(restoring->pieces[i].id);
	free(restoring->pieces);
	archive_draft_done(&restoring->all);
	reading_done(&restoring->reading);
	history_release(&restoring->history);
	strv_done(&restoring->added);
}

/* The same thing may be in several objects: archived twice by a process that was killed between. */
static bool has_piece(const struct restoring *restoring, const struct archive_entry *item)
{
	for (size_t i = 0; restoring->reading.wish->ids && i < restoring->count; i++)
		if (restoring->pieces[i].kind == item->kind &&
		    strcmp(restoring->pieces[i].id, item->id) == 0)
			return true;
	return false;
}

static int take_object(struct restoring *restoring, const struct archive_manifest *manifest,
		       struct error *err)
{
	size_t before = restoring->count;

	for (size_t i = 0; i < manifest->count; i++) {
		const struct archive_entry *item = &manifest->items[i];

		if (!reading_wants(&restoring->reading, item) || has_piece(restoring, item))
			continue;
		restoring->pieces = xrealloc(restoring->pieces, restoring->count + 1,
					     sizeof(restoring->pieces[0]));
		restoring->pieces[restoring->count++] =
			(struct piece){ item->kind, xstrdup(item->id), restoring->bytes + item->at,
					item->size };
	}
	if (restoring->count == before)
		return 0;
	restoring->bytes += manifest->raw_bytes;
	return pack_unpack(restoring->reading.place, manifest, restoring->all.fd, err);
}

/* A damaged manifest is passed over when ids were asked for: they may all be elsewhere. */
static int take_all(struct restoring *restoring, struct error *err)
{
	struct reading *reading = &restoring->reading;

	for (size_t i = 0; i < reading->names.count; i++) {
		owned(archive_manifest_done) struct archive_manifest manifest = { 0 };
		struct error damage;

		if (!reading_wants_day(reading, reading->names.items[i]))
			continue;
		if (pack_manifest(reading->place, reading->names.items[i], &manifest, &damage) <
		    0) {
			if (!reading->wish->ids) {
				*err = damage;
				return -1;
			}
			continue;
		}
		if (take_object(restoring, &manifest, err) < 0)
			return -1;
	}
	return 0;
}

static int find_all(const struct restoring *restoring, struct error *err)
{
	const struct strv *ids = restoring->reading.wish->ids;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; ids && i < ids->count; i++) {
		size_t j = 0;

		while (j < restoring->count && strcmp(restoring->pieces[j].id, ids->items[i]) != 0)
			j++;
		if (j == restoring->count)
			return error_advise(
				err, ERROR_NOT_FOUND, "aisbx archive ls DAY lists what is there",
				"'%s' is not in the archive", str_shown(ids->items[i], shown));
	}
	return 0;
}

static int pin_all(struct restoring *restoring, struct error *err)
{
	owned(strv_done) struct strv pins = STRV_INIT;

	if (archive_pins_read(restoring->reading.state_dir, &pins, err) < 0)
		return -1;
	for (size_t i = 0; i < restoring->count; i++)
		strv_add(&pins, restoring->pieces[i].id);
	return archive_pins_write(&restoring->reading.self, &pins, err);
}

static int copy_piece(const struct restoring *restoring, const struct piece *piece, int to_fd)
{
	owned(free_ptr) char *buffer = xmalloc(COPY_BYTES);

	for (uint64_t at = 0; at < piece->size;) {
		size_t want =
			piece->size - at < COPY_BYTES ? (size_t)(piece->size - at) : COPY_BYTES;

		if (fd_read_at(restoring->all.fd, buffer, want, (off_t)(piece->at + at)) !=
			    (ssize_t)want ||
		    fd_write_all(to_fd, buffer, want) < 0)
			return -1;
		at += want;
	}
	return fsync(to_fd);
}

static int restore_log(struct restoring *restoring, const struct piece *piece, struct error *err)
{
	owned(archive_draft_done) struct archive_draft draft = { .fd = -1 };
	owned(free_ptr) char *dir = xasprintf("%s/logs", restoring->reading.state_dir);
	owned(free_ptr) char *path = xasprintf("%s/%s", dir, piece->id);

	if (dir_make_all(dir) < 0 ||
	    archive_draft_make(restoring->reading.self.drafts, &draft, err) < 0)
		return error_errno(err, ERROR_HOST, "cannot make '%s'", path);
	if (copy_piece(restoring, piece, draft.fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot write '%s'", path);
	if (link(draft.path, path) < 0)
		return errno == EEXIST ? 0 : error_errno(err, ERROR_HOST, "cannot make '%s'", path);
	strv_add(&restoring->added, path);
	restoring->counts[ARCHIVE_LOG]++;
	return 0;
}

static int restore_run(struct restoring *restoring, const struct piece *piece, struct error *err)
{
	owned(free_ptr) char *text = NULL;
	int added;

	if (piece->size > RECORD_MAX)
		return error_set(err, ERROR_INPUT, "run %s: its record is too large", piece->id);
	text = xcalloc(1, (size_t)piece->size + 1);
	if (fd_read_at(restoring->all.fd, text, (size_t)piece->size, (off_t)piece->at) !=
	    (ssize_t)piece->size)
		return error_errno(err, ERROR_HOST, "cannot read what was unpacked");
	added = history_run_unpack(restoring->history, piece->id, text, (size_t)piece->size, err);
	restoring->counts[ARCHIVE_RUN] += added > 0;
	return added < 0 ? -1 : 0;
}

static int restore_pieces(struct restoring *restoring, struct error *err)
{
	for (size_t i = 0; i < restoring->count; i++) {
		const struct piece *piece = &restoring->pieces[i];

		if ((piece->kind == ARCHIVE_RUN && restore_run(restoring, piece, err) < 0) ||
		    (piece->kind == ARCHIVE_LOG && restore_log(restoring, piece, err) < 0))
			return -1;
	}
	return 0;
}

/* All or nothing: rows by a transaction, files by taking back those that were added. */
static int restore_all(struct restoring *restoring, struct error *err)
{
	struct error ignored;

	if (history_begin(restoring->history, err) < 0)
		return -1;
	if (restore_pieces(restoring, err) == 0 && history_end(restoring->history, true, err) == 0)
		return 0;
	(void)history_end(restoring->history, false, &ignored);
	for (size_t i = 0; i < restoring->added.count; i++)
		(void)unlink(restoring->added.items[i]);
	return -1;
}

int app_archive_restore(const struct archive_wish *wish, struct value **ret_answer,
			struct error *err)
{
	owned(restoring_done) struct restoring restoring = { .all.fd = -1,
							     .reading.self.lock_fd = -1 };

	if (reading_open(wish, &restoring.reading, err) < 0 ||
	    archive_draft_make(restoring.reading.self.drafts, &restoring.all, err) < 0 ||
	    take_all(&restoring, err) < 0 || find_all(&restoring, err) < 0 ||
	    app_history(&restoring.history, err) < 0 || pin_all(&restoring, err) < 0 ||
	    restore_all(&restoring, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "runs", value_new_int(restoring.counts[ARCHIVE_RUN]));
	value_add(*ret_answer, "logs", value_new_int(restoring.counts[ARCHIVE_LOG]));
	return 0;
}

/* IDS as they are, since each may be a sandbox's name, and the run that one is the beginning of. */
static int find_words(const struct strv *ids, struct strv *ret_words, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	char id[ID_RUN_SIZE];

	if (ids->count && app_history(&history, err) < 0)
		return -1;
	for (size_t i = 0; i < ids->count; i++) {
		strv_add(ret_words, ids->items[i]);
		if (history_find(history, ids->items[i], NULL, id, err) == 0)
			strv_add(ret_words, id);
		else if (err->code != ERROR_NOT_FOUND)
			return -1;
	}
	return 0;
}

int app_archive_pin(const struct strv *ids, bool is_pinned, struct value **ret_list,
		    struct error *err)
{
	owned(archive_self_done) struct archive_self self = { .lock_fd = -1 };
	owned(strv_done) struct strv pins = STRV_INIT, kept = STRV_INIT, words = STRV_INIT;
	owned(free_ptr) char *state_dir = app_state_dir(err);

	if (!state_dir || archive_self_open(state_dir, &self, err) < 0 ||
	    archive_pins_read(state_dir, &pins, err) < 0 || find_words(ids, &words, err) < 0)
		return -1;
	for (size_t i = 0; i < pins.count; i++)
		if (!strv_has(&words, pins.items[i]))
			strv_add(&kept, pins.items[i]);
	for (size_t i = 0; is_pinned && i < words.count; i++)
		strv_add(&kept, words.items[i]);
	if (ids->count && archive_pins_write(&self, &kept, err) < 0)
		return -1;
	*ret_list = value_from_strv(&kept);
	return 0;
}
