/* SPDX-License-Identifier: Apache-2.0 */
/* An archive looked at and checked. */
#include "app/archive/archive_parts.h"

#include "app/record/history.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX ((size_t)16 << 20)

void reading_done(struct reading *reading)
{
	archive_place_release(&reading->place);
	archive_self_done(&reading->self);
	strv_done(&reading->names);
	free_ptr(&reading->state_dir);
}

int reading_open(const struct archive_wish *wish, struct reading *ret_reading, struct error *err)
{
	owned(reading_done) struct reading reading = { .wish = wish, .self.lock_fd = -1 };

	struct archive_address address = { .url = wish->url, .environ = wish->environ };

	reading.state_dir = app_state_dir(err);
	if (!reading.state_dir || archive_self_open(reading.state_dir, &reading.self, err) < 0)
		return -1;
	address.drafts = reading.self.drafts;
	if (archive_place_open(&address, &reading.place, err) < 0 ||
	    reading.place->calls->list(reading.place, &reading.names, err) < 0)
		return -1;
	/* By day, which is what they begin with. */
	strv_sort(&reading.names);
	*ret_reading = reading;
	reading = (struct reading){ .self.lock_fd = -1 };
	return 0;
}

bool reading_wants_day(const struct reading *reading, const char *name)
{
	return !reading->wish->day || strncmp(name, reading->wish->day, strlen("2026-11-18")) == 0;
}

bool reading_wants(const struct reading *reading, const struct archive_entry *item)
{
	return !reading->wish->ids || strv_has(reading->wish->ids, item->id);
}

static struct value *item_row(const struct archive_manifest *manifest,
			      const struct archive_entry *item)
{
	struct value *row = value_new_map();

	value_add(row, "kind", value_new_text(archive_kind_name(item->kind)));
	value_add(row, "id", value_new_text(item->id));
	value_add(row, "size", value_new_int((int64_t)item->size));
	value_add(row, "sha256", value_new_text(item->sha256));
	value_add(row, "object", value_new_text(manifest->object));
	value_add(row, "made", value_new_text(manifest->made));
	value_add(row, "machine", value_new_text(manifest->machine));
	return row;
}

static void count(struct value *row, const char *key, uint64_t more)
{
	value_set(row, key, value_new_int(value_int_of(row, key) + (int64_t)more));
}

/* A day's row, which is the last one of the list, or a new one. */
static void count_day(struct value *list, const char *name, const struct archive_manifest *manifest)
{
	static const char *const keys[ARCHIVE_KINDS] = { "runs", "logs" };
	struct value *row = list->many.count ? list->many.items[list->many.count - 1] : NULL;
	uint64_t counts[ARCHIVE_KINDS] = { 0 };
	const char *day = row ? value_get_text(row, "day") : NULL;

	if (!day || strncmp(day, name, strlen(day)) != 0) {
		row = value_append(list, value_new_map());
		value_add(row, "day", value_new_bytes(name, strlen("2026-11-18")));
	}
	for (size_t i = 0; i < manifest->count; i++)
		counts[manifest->items[i].kind]++;
	count(row, "manifests", 1);
	for (size_t i = 0; i < ARCHIVE_KINDS; i++)
		count(row, keys[i], counts[i]);
	count(row, "raw_bytes", manifest->raw_bytes);
	count(row, "bytes", manifest->bytes);
}

int app_archive_list(const struct archive_wish *wish, struct value **ret_list, struct str *notes,
		     struct error *err)
{
	owned(reading_done) struct reading reading = { .self.lock_fd = -1 };
	owned(value_release) struct value *list = value_new_list();

	if (reading_open(wish, &reading, err) < 0)
		return -1;
	for (size_t i = 0; i < reading.names.count; i++) {
		const char *name = reading.names.items[i];
		owned(archive_manifest_done) struct archive_manifest manifest = { 0 };
		struct error damage;

		if (!reading_wants_day(&reading, name))
			continue;
		if (pack_manifest(reading.place, name, &manifest, &damage) < 0)
			str_addf(notes, "%s\n", damage.text);
		else if (!wish->day)
			count_day(list, name, &manifest);
		else
			for (size_t j = 0; j < manifest.count; j++)
				value_append(list, item_row(&manifest, &manifest.items[j]));
	}
	*ret_list = ptr_take(&list);
	return 0;
}

/* The record of a run as data; output is not shown. */
static int add_record(struct reading *reading, const struct archive_manifest *manifest,
		      const struct archive_entry *item, struct value *answer, struct error *err)
{
	owned(archive_draft_done) struct archive_draft draft = { .fd = -1 };
	owned(free_ptr) char *text = NULL;
	struct value *record = NULL;
	size_t len;

	if (item->kind != ARCHIVE_RUN || item->size > SHOWN_MAX)
		return 0;
	len = (size_t)item->size;
	text = xmalloc(len + 1);
	if (archive_draft_make(reading->self.drafts, &draft, err) < 0 ||
	    pack_unpack(reading->place, manifest, draft.fd, err) < 0)
		return -1;
	if (fd_read_at(draft.fd, text, len, (off_t)item->at) != (ssize_t)len)
		return error_errno(err, ERROR_HOST, "cannot read what was unpacked");
	if (json_read(text, len, NULL, &record, err) < 0)
		return error_context(err, "run %s", item->id);
	value_add(answer, "record", record);
	return 0;
}

int app_archive_show(const struct archive_wish *wish, struct value **ret_answer, struct error *err)
{
	owned(reading_done) struct reading reading = { .self.lock_fd = -1 };
	owned(value_release) struct value *answer = value_new_map();
	struct value *items = value_add(answer, "items", value_new_list());
	char shown[STR_SHOWN_SIZE];

	if (reading_open(wish, &reading, err) < 0)
		return -1;
	for (size_t i = 0; i < reading.names.count; i++) {
		owned(archive_manifest_done) struct archive_manifest manifest = { 0 };
		struct error ignored;

		/* One that is damaged hides no other; verify names it. */
		if (pack_manifest(reading.place, reading.names.items[i], &manifest, &ignored) < 0)
			continue;
		for (size_t j = 0; j < manifest.count; j++) {
			if (!reading_wants(&reading, &manifest.items[j]))
				continue;
			value_append(items, item_row(&manifest, &manifest.items[j]));
			if (!value_get(answer, "record") &&
			    add_record(&reading, &manifest, &manifest.items[j], answer, err) < 0)
				return -1;
		}
	}
	if (items->many.count == 0)
		return error_advise(
			err, ERROR_NOT_FOUND, "aisbx archive ls DAY lists what is there",
			"'%s' is not in the archive", str_shown(wish->ids->items[0], shown));
	*ret_answer = ptr_take(&answer);
	return 0;
}

/* The manifest a digest belongs to, of any day. */
static bool has_manifest(const struct strv *names, const char *sha256)
{
	for (size_t i = 0; i < names->count; i++)
		if (strncmp(strchr(names->items[i], '/') + 1, sha256, SHA256_HEX_SIZE - 1) == 0)
			return true;
	return false;
}

static int verify_one(struct reading *reading, const char *name, struct value *answer,
		      struct error *err)
{
	owned(archive_manifest_done) struct archive_manifest manifest = { 0 };
	owned(archive_draft_done) struct archive_draft draft = { .fd = -1 };

	count(answer, "manifests", 1);
	if (pack_manifest(reading->place, name, &manifest, err) < 0)
		return -1;
	count(answer, "objects", 1);
	count(answer, "items", manifest.count);
	count(answer, "raw_bytes", manifest.raw_bytes);
	if (manifest.prev && !has_manifest(&reading->names, manifest.prev))
		return error_set(err, ERROR_INPUT,
				 "a manifest is missing: %.12s..., which %.12s... came after",
				 manifest.prev, strchr(name, '/') + 1);
	return pack_unpack(reading->place, &manifest, -1, err);
}

int app_archive_verify(const struct archive_wish *wish, struct value **ret_answer,
		       struct error *err)
{
	owned(reading_done) struct reading reading = { .self.lock_fd = -1 };
	struct value *problems;

	if (reading_open(wish, &reading, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	count(*ret_answer, "manifests", 0);
	count(*ret_answer, "objects", 0);
	count(*ret_answer, "items", 0);
	count(*ret_answer, "raw_bytes", 0);
	problems = value_add(*ret_answer, "problems", value_new_list());
	if (wish->is_own && *reading.self.last && !has_manifest(&reading.names, reading.self.last))
		value_append(
			problems,
			value_new_text("the manifest that this machine wrote last is missing"));
	for (size_t i = 0; i < reading.names.count; i++) {
		struct error problem;

		if (reading_wants_day(&reading, reading.names.items[i]) &&
		    verify_one(&reading, reading.names.items[i], *ret_answer, &problem) < 0)
			value_append(problems, value_new_text(problem.text));
	}
	return 0;
}
