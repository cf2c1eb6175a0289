/* SPDX-License-Identifier: Apache-2.0 */
/* Build outputs kept: saved, listed, forgotten. */
#include "app/change/artifact_parts.h"

#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/file/file_rights.h"
#include "base/core/id.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "app/record/history.h"
#include "app/record/record.h"
#include "app/change/secret_look.h"
#include "app/change/workspace_parts.h"
#include "workspace/store/cas.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define RECORD_MAX ((size_t)16 << 20)
#define PREFIX_MIN 4

int artifact_directory(const struct store *store, int *ret_fd, struct error *err)
{
	if (mkdirat(store->fd, "artifacts", 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make 'artifacts' in the store");
	*ret_fd = openat(store->fd, "artifacts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd >= 0 ? 0
			    : error_errno(err, ERROR_HOST, "cannot open 'artifacts' in the store");
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

int artifact_names(int dir_fd, struct strv *ret_names, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;
	int got;

	while ((got = dir_next(dir, &entry)) > 0) {
		if (id_run_epoch_ms(entry->d_name) > 0)
			strv_add(ret_names, entry->d_name);
	}
	if (got < 0)
		return error_errno(err, ERROR_HOST, "cannot list artifacts");
	if (ret_names->count > 1)
		qsort(ret_names->items, ret_names->count, sizeof(char *), compare_names);
	return 0;
}

int artifact_read(int dir_fd, const char *name, struct value **ret_record, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (file_read(dir_fd, name, RECORD_MAX, &text, err) < 0 ||
	    json_read(str_cstr(&text), text.len, NULL, ret_record, err) < 0)
		return error_context(err, "artifact %s", name);
	if ((*ret_record)->kind == VALUE_MAP && value_get_text(*ret_record, "sha256"))
		return 0;
	value_release(ret_record);
	return error_set(err, ERROR_INPUT, "artifact %s: damaged", name);
}

int artifact_find(int dir_fd, const char *prefix, struct value **ret_record, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	const char *found = NULL;
	char shown[STR_SHOWN_SIZE];

	if (strlen(prefix) < PREFIX_MIN)
		return error_set(err, ERROR_USAGE, "'%s' is too short for an artifact's id",
				 str_shown(prefix, shown));
	if (artifact_names(dir_fd, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		if (strncasecmp(names.items[i], prefix, strlen(prefix)) != 0)
			continue;
		if (found)
			return error_set(err, ERROR_USAGE, "several artifacts begin with '%s'",
					 str_shown(prefix, shown));
		found = names.items[i];
	}
	if (!found)
		return error_advise(err, ERROR_NOT_FOUND, "aisbx artifact ls lists them",
				    "there is no artifact '%s'", str_shown(prefix, shown));
	return artifact_read(dir_fd, found, ret_record, err);
}

char *artifact_path(const struct value *row)
{
	const char *coded = value_get_text(row, "path_b64");
	const char *path = value_get_text(row, "path");
	owned(str_done) struct str raw = STR_INIT;

	if (!coded)
		return path ? xstrdup(path) : NULL;
	return base64_read(&raw, coded, strlen(coded)) && raw.len > 0 ? str_detach(&raw) : NULL;
}

/* What is being saved from one sandbox. */
struct saving {
	struct opened opened;
	struct view_stack stack;
	bool has_stack;
	struct delta delta;
	bool has_delta;
	char *run_id;
	int dir_fd; /* of the records; locked while room is counted and taken */
	struct artifact_room room;
	struct secret_look look;
};

static void saving_done(struct saving *saving)
{
	if (saving->has_delta)
		delta_done(&saving->delta);
	if (saving->has_stack)
		view_close(&saving->stack);
	secret_look_close(&saving->look);
	opened_close(&saving->opened);
	free(saving->run_id);
	fd_close(&saving->dir_fd);
}

/* What a file takes on disk, which with holes is less than its size. */
static int64_t allocated(const struct stat *st)
{
	int64_t bytes = (int64_t)st->st_blocks * 512;

	return bytes < st->st_size ? bytes : st->st_size;
}

static void add_file(struct value *row, const struct stat *st, const char *sha256)
{
	value_add(row, "size", value_new_int(st->st_size));
	value_add(row, "allocated", value_new_int(allocated(st)));
	if (st->st_size > DIGEST_WHOLE_MAX)
		value_add(row, "sha256_of", value_new_text("parts"));
	value_add(row, "mode", value_new_int(st->st_mode & 0777));
	value_add(row, "sha256", value_new_text(sha256));
}

/* Open with the sandbox's rights: a root caller must not save a file that the sandbox itself may not read. */
static int open_readable(const struct saving *saving, const struct delta_side *side)
{
	owned(file_rights_restore) struct file_rights rights;

	return file_rights_lessen(&rights) < 0 ? -1 : delta_open_side(&saving->stack, side);
}

/* Finds PATH, and opens it if it is a file: *ret_fd, else -1. */
static int find_readable(const struct saving *saving, const char *path,
			 struct view_object *ret_object, int *ret_fd, struct error *err)
{
	owned(file_rights_restore) struct file_rights rights;

	if (file_rights_lessen(&rights) < 0)
		return error_errno(err, ERROR_HOST, "cannot read %s with the sandbox's rights",
				   path);
	if (view_lookup(&saving->stack, 0, path, ret_object, err) < 0)
		return -1;
	if (ret_object->kind == VIEW_ABSENT || !S_ISREG(ret_object->st.st_mode))
		return 0;
	*ret_fd = view_open_file(ret_object);
	if (*ret_fd < 0 && errno == EACCES)
		return error_set(err, ERROR_DENIED, "%s: the sandbox may not read it", path);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "%s", path) : 0;
}

/* Sockets, pipes and devices have no content to save. */
static bool is_special(const struct delta_side *side)
{
	mode_t mode = side->st.st_mode;

	return side->exists && !S_ISREG(mode) && !S_ISLNK(mode) && !S_ISDIR(mode);
}

/* One entry of a directory. */
static int add_entry(struct saving *saving, const struct delta_entry *entry, const char *relative,
		     struct value *entries, struct error *err)
{
	const struct delta_side *side = &entry->new;
	owned(fd_close) int fd = -1;
	char sha256[SHA256_HEX_SIZE];
	struct value *row;

	if (!side->exists || (!S_ISREG(side->st.st_mode) && !S_ISLNK(side->st.st_mode)))
		return 0;
	if (side->link && secret_look_refuse(&saving->look, -1, side->link, strlen(side->link),
					     relative, err) < 0)
		return -1;
	if (S_ISREG(side->st.st_mode)) {
		fd = open_readable(saving, side);
		if (fd < 0)
			return error_errno(err, ERROR_HOST, "%s", entry->path);
		if (secret_look_refuse(&saving->look, fd, relative, strlen(relative), relative,
				       err) < 0)
			return -1;
		if (artifact_room_take(&saving->room, (uint64_t)allocated(&side->st), err) < 0 ||
		    cas_keep_fd(&saving->opened.store, fd, sha256, err) < 0)
			return -1;
	}
	row = value_append(entries, value_new_map());
	workspace_add_path(row, relative);
	value_add(row, "link", value_new_text(side->link));
	if (fd >= 0)
		add_file(row, &side->st, sha256);
	return 0;
}

static int read_delta(struct saving *saving, struct error *err)
{
	const struct delta_options options = { .workspace = saving->opened.sandbox.workspace,
					       .sandbox = &saving->opened.sandbox,
					       .old_from = saving->stack.count,
					       .expand = true };
	char why[DELTA_WHY_SIZE];

	if (saving->has_delta)
		return 0;
	if (delta_read(&saving->stack, &options, &saving->delta, err) < 0)
		return -1;
	saving->has_delta = true;
	return saving->delta.is_partial
		       ? error_set(err, ERROR_DENIED, "%s",
				   delta_why_partial(&saving->delta, options.workspace, why))
		       : 0;
}

static int save_directory(struct saving *saving, const char *path, struct value *record,
			  struct error *err)
{
	struct value *entries = value_add(record, "entries", value_new_list());
	owned(str_done) struct str text = STR_INIT;
	char sha256[SHA256_HEX_SIZE];
	int64_t sum = 0, disk_sum = 0, left_out = 0;

	if (read_delta(saving, err) < 0)
		return -1;
	for (size_t i = 0; i < saving->delta.count; i++) {
		const struct delta_entry *entry = &saving->delta.items[i];
		const char *relative = target_relative(path, entry->path);

		if (!relative || !*relative)
			continue;
		if (add_entry(saving, entry, relative, entries, err) < 0)
			return -1;
		left_out += is_special(&entry->new);
	}
	if (entries->many.count == 0)
		return error_set(err, ERROR_NOT_FOUND, "%s: the sandbox made nothing in it%s", path,
				 left_out > 0 ? " but sockets, pipes or devices" : "");
	for (size_t i = 0; i < entries->many.count; i++) {
		int64_t size = 0, disk = 0;

		sum += value_get_int(entries->many.items[i], "size", &size) ? size : 0;
		disk_sum += value_get_int(entries->many.items[i], "allocated", &disk) ? disk : 0;
	}
	json_write(&text, entries, 0);
	sha256_hex(str_cstr(&text), text.len, sha256);
	value_add(record, "kind", value_new_text("directory"));
	value_add(record, "size", value_new_int(sum));
	value_add(record, "allocated", value_new_int(disk_sum));
	value_add(record, "mode", value_new_int(0755));
	value_add(record, "sha256", value_new_text(sha256));
	value_add(record, "left_out", value_new_int(left_out));
	return 0;
}

static int save_object(struct saving *saving, const char *path, struct value *record,
		       struct error *err)
{
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	owned(fd_close) int fd = -1;
	char sha256[SHA256_HEX_SIZE];
	struct stat st;

	if (find_readable(saving, path, &object, &fd, err) < 0)
		return -1;
	if (object.kind == VIEW_ABSENT)
		return error_set(err, ERROR_NOT_FOUND, "%s: not in the sandbox", path);
	if (S_ISDIR(object.st.st_mode))
		return save_directory(saving, path, record, err);
	if (!S_ISREG(object.st.st_mode))
		return error_set(err, ERROR_DENIED, "%s: neither a file nor a directory", path);
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (secret_look_refuse(&saving->look, fd, path, strlen(path), path, err) < 0 ||
	    artifact_room_take(&saving->room, (uint64_t)allocated(&st), err) < 0 ||
	    cas_keep_fd(&saving->opened.store, fd, sha256, err) < 0)
		return -1;
	value_add(record, "kind", value_new_text("file"));
	add_file(record, &st, sha256);
	return 0;
}

static int write_record(struct saving *saving, const char *id, const struct value *record,
			struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, record, 0);
	if (text.len > RECORD_MAX)
		return error_set(err, ERROR_DENIED, "too many files for one artifact");
	if (artifact_room_take(&saving->room, text.len, err) < 0 ||
	    store_replace(saving->dir_fd, id, str_cstr(&text), text.len, true, err) < 0)
		return -1;
	saving->room.count++;
	return 0;
}

/* An absolute path of the view, without dots. */
static char *place_of(const struct saving *saving, const char *word)
{
	owned(free_ptr) char *whole =
		word[0] == '/' ? xstrdup(word)
			       : xasprintf("%s/%s", saving->opened.sandbox.workspace, word);

	return path_clean(whole);
}

static int save_path(struct saving *saving, const char *word, struct value *list, struct error *err)
{
	owned(free_ptr) char *path = place_of(saving, word);
	owned(value_release) struct value *record = value_new_map();
	struct record_event event = { .kind = "artifact",
				      .sandbox = saving->opened.sandbox.name,
				      .body = record };
	char id[ID_RUN_SIZE];

	if (!path)
		return error_set(err, ERROR_USAGE, "'%s' leads out of where it is", word);
	if (id_run(id, err) < 0)
		return -1;
	value_add(record, "artifact_id", value_new_text(id));
	workspace_add_path(record, workspace_relative(path, saving->opened.sandbox.workspace));
	value_add(record, "sandbox", value_new_text(saving->opened.sandbox.name));
	value_add(record, "owner", value_new_text(saving->opened.sandbox.owner));
	value_add(record, "run_id", value_new_text(saving->run_id));
	value_add(record, "time", workspace_time(clock_epoch_ms()));
	if (save_object(saving, path, record, err) < 0 || write_record(saving, id, record, err) < 0)
		return -1;
	event.id = id;
	record_event(&event);
	value_append(list, ptr_take(&record));
	return 0;
}

/* Two at once would each see the same room: the second one waits for the first. */
static int count_room(struct saving *saving, uint64_t bytes_max, struct error *err)
{
	if (artifact_directory(&saving->opened.store, &saving->dir_fd, err) < 0)
		return -1;
	while (flock(saving->dir_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return error_errno(err, ERROR_HOST, "cannot lock 'artifacts' in the store");
	return artifact_room_read(saving->dir_fd, saving->opened.sandbox.owner, bytes_max,
				  &saving->room, err);
}

int app_artifact_save(const char *sandbox, const struct strv *paths, uint64_t bytes_max,
		      struct value **ret_list, struct error *err)
{
	owned(saving_done) struct saving saving = { .has_stack = false, .dir_fd = -1 };
	owned(value_release) struct value *list = value_new_list();

	opened_init(&saving.opened);
	if (opened_open(&saving.opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    secret_look_open(&saving.opened.sandbox, &saving.look, err) < 0 ||
	    app_view(&saving.opened.sandbox, NULL, &saving.stack, err) < 0)
		return -1;
	saving.has_stack = true;
	if (count_room(&saving, bytes_max, err) < 0)
		return -1;
	saving.run_id = app_last_run(sandbox);
	for (size_t i = 0; i < paths->count; i++)
		if (save_path(&saving, paths->items[i], list, err) < 0)
			return -1;
	*ret_list = ptr_take(&list);
	return 0;
}

int app_artifact_list(struct value **ret_list, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(strv_done) struct strv names = STRV_INIT;
	owned(fd_close) int dir_fd = -1;

	if (app_store(&store, err) < 0 || artifact_directory(&store, &dir_fd, err) < 0 ||
	    artifact_names(dir_fd, &names, err) < 0)
		return -1;
	*ret_list = value_new_list();
	for (size_t i = 0; i < names.count; i++) {
		struct value *record = NULL;
		struct error ignored;

		/* One that is damaged hides no other. */
		if (artifact_read(dir_fd, names.items[i], &record, &ignored) < 0)
			continue;
		value_free(value_take(record, "entries"));
		value_append(*ret_list, record);
	}
	return 0;
}

int app_artifact_remove(const char *id, struct value **ret_answer, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(value_release) struct value *record = NULL;
	owned(fd_close) int dir_fd = -1;

	if (app_store(&store, err) < 0 || artifact_directory(&store, &dir_fd, err) < 0 ||
	    artifact_find(dir_fd, id, &record, err) < 0)
		return -1;
	if (unlinkat(dir_fd, value_get_text(record, "artifact_id"), 0) < 0)
		return error_errno(err, ERROR_HOST, "artifact %s", id);
	value_free(value_take(record, "entries"));
	*ret_answer = ptr_take(&record);
	return 0;
}
