/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts of pulls: records in the store that wait for a person, known again by what is in conflict. */
#include "app/travel/travel_parts.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "app/change/workspace_parts.h"
#include "app/record/record.h"
#include "workspace/store/cas.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_LENGTH 16
#define RECORD_MAX ((size_t)64 << 10)
#define CONTENT_MAX ((size_t)64 << 20)

static int open_all(const struct store *store, struct error *err)
{
	int fd;

	if (mkdirat(store->fd, "conflicts", 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make 'conflicts' in the store");
	fd = openat(store->fd, "conflicts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_errno(err, ERROR_HOST, "cannot open 'conflicts' in the store");
}

static bool is_id(const char *name)
{
	return strlen(name) == ID_LENGTH && strspn(name, "0123456789abcdef") == ID_LENGTH;
}

static struct value *describe_side(const struct bundle_side *side)
{
	struct value *map = value_new_map();
	const char type[] = { side->type, '\0' };

	value_add(map, "type", value_new_text(side->type ? type : NULL));
	value_add(map, "mode", value_new_int(side->mode));
	value_add(map, "sha256", value_new_text(side->sha256[0] ? side->sha256 : NULL));
	value_add(map, "link", value_new_text(side->link));
	return map;
}

/* The same question has the same id, whenever it is asked; any other side, and it is another question. */
static struct value *describe(const struct fill_conflict *conflict,
			      const struct pull_conflicts *all, char ret_id[static ID_LENGTH + 1])
{
	struct value *map = value_new_map();
	owned(str_done) struct str text = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	value_add(map, "remote_id", value_new_text(all->remote_id));
	value_add(map, "name", value_new_text(all->name));
	workspace_add_path(map, conflict->change->path);
	value_add(map, "base", describe_side(&conflict->change->old));
	value_add(map, "ours", describe_side(conflict->now));
	value_add(map, "theirs", describe_side(&conflict->change->new));
	json_write(&text, map, 0);
	sha256_hex(str_cstr(&text), text.len, hex);
	(void)snprintf(ret_id, ID_LENGTH + 1, "%.*s", ID_LENGTH, hex);
	value_add(map, "id", value_new_text(ret_id));
	value_add(map, "sandbox", value_new_text(all->sandbox));
	value_add(map, "remote", value_new_text(all->pull->remote));
	value_add(map, "sequence", value_new_int((int64_t)all->sequence));
	value_add(map, "what", value_new_text(conflict->what));
	value_add(map, "time", workspace_time(clock_epoch_ms()));
	value_add(map, "resolution", value_new_null());
	return map;
}

static int read_record(int dir_fd, const char *id, struct value **ret_record, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	struct value *record = NULL;

	if (file_read(dir_fd, id, RECORD_MAX, &text, err) < 0 ||
	    json_read(str_cstr(&text), text.len, NULL, &record, err) < 0)
		return error_context(err, "conflict %s", id);
	if (record->kind != VALUE_MAP || !str_same(value_get_text(record, "id"), id)) {
		value_free(record);
		return error_set(err, ERROR_INPUT, "conflict %s: damaged", id);
	}
	*ret_record = record;
	return 0;
}

static int write_record(int dir_fd, const struct value *record, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, record, 0);
	return store_replace(dir_fd, value_get_text(record, "id"), str_cstr(&text), text.len, true,
			     err);
}

/* What a person answered before: false when nothing yet. */
static bool take_answer(const struct value *record, struct fill_conflict *conflict)
{
	const char *answer = value_get_text(record, "resolution");

	if (!answer)
		return false;
	if (strcmp(answer, "ours") == 0) {
		conflict->take = BUNDLE_KEEP;
	} else if (strcmp(answer, "theirs") == 0) {
		conflict->take = BUNDLE_NEW;
	} else {
		conflict->take = BUNDLE_MERGE;
		(void)snprintf(conflict->sha256, sizeof(conflict->sha256), "%s", answer);
	}
	return true;
}

int conflict_settle_pull(struct fill_conflict *conflict, void *cookie, struct error *err)
{
	struct pull_conflicts *all = cookie;
	owned(value_release) struct value *record = NULL, *kept = NULL;
	owned(fd_close) int dir_fd = -1;
	char id[ID_LENGTH + 1], hex[SHA256_HEX_SIZE];

	if (!conflict) {
		if (all->list->many.count == 0)
			return 0;
		return error_advise(err, ERROR_CONFLICT,
				    "aisbx conflicts lists them; resolve each, then pull again",
				    "%zu path%s changed on both sides; no sandbox was made",
				    all->list->many.count, all->list->many.count == 1 ? "" : "s");
	}
	dir_fd = open_all(all->store, err);
	if (dir_fd < 0)
		return -1;
	record = describe(conflict, all, id);
	if (faccessat(dir_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		if (read_record(dir_fd, id, &kept, err) < 0)
			return -1;
		if (take_answer(kept, conflict)) {
			strv_add(&all->used, id);
			return 0;
		}
		value_append(all->list, ptr_take(&kept));
		return 0;
	}
	if (conflict->now_fd >= 0 && cas_keep_fd(all->store, conflict->now_fd, hex, err) < 0)
		return -1;
	if (write_record(dir_fd, record, err) < 0)
		return -1;
	record_event(&(struct record_event){
		.kind = "conflict", .sandbox = all->sandbox, .id = id, .body = record });
	value_append(all->list, ptr_take(&record));
	return 0;
}

void conflicts_forget(const struct pull_conflicts *conflicts)
{
	struct error ignored;
	owned(fd_close) int dir_fd =
		conflicts->used.count ? open_all(conflicts->store, &ignored) : -1;

	for (size_t i = 0; dir_fd >= 0 && i < conflicts->used.count; i++)
		(void)unlinkat(dir_fd, conflicts->used.items[i], 0);
}

static int compare_time(const void *a, const void *b)
{
	return strcmp(value_get_text(*(struct value *const *)a, "time"),
		      value_get_text(*(struct value *const *)b, "time"));
}

int app_conflicts(struct value **ret_list, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(value_release) struct value *list = value_new_list();
	owned(dir_close) DIR *dir = NULL;
	owned(fd_close) int fd = -1;
	struct dirent *entry;
	int got;

	if (app_store(&store, err) < 0 || (fd = open_all(&store, err)) < 0)
		return -1;
	dir = dir_take(&fd);
	while ((got = dir_next(dir, &entry)) > 0) {
		struct value *record = NULL;

		if (!is_id(entry->d_name))
			continue;
		if (read_record(dirfd(dir), entry->d_name, &record, err) < 0)
			return -1;
		if (!value_get_text(record, "time"))
			value_set(record, "time", value_new_text(""));
		value_append(list, record);
	}
	if (got < 0)
		return error_errno(err, ERROR_HOST, "cannot list conflicts");
	if (list->many.count > 1)
		qsort(list->many.items, list->many.count, sizeof(struct value *), compare_time);
	*ret_list = ptr_take(&list);
	return 0;
}

static int open_record(struct store *store, const char *id, int *ret_fd, struct value **ret_record,
		       struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (app_store(store, err) < 0 || (*ret_fd = open_all(store, err)) < 0)
		return -1;
	if (!is_id(id) || faccessat(*ret_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return error_advise(err, ERROR_NOT_FOUND, "aisbx conflicts lists them",
				    "there is no conflict '%s'", str_shown(id, shown));
	return read_record(*ret_fd, id, ret_record, err);
}

/* A file of the user's, kept as the content that is taken. */
static int keep_file(const struct store *store, const char *file,
		     char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	owned(fd_close) int fd = file_open(AT_FDCWD, file, 0, NULL);

	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_INPUT, "%s",
				   file);
	return cas_keep_fd(store, fd, ret_hex, err);
}

int app_conflict_resolve(const char *id, enum conflict_answer answer, const char *file,
			 struct value **ret_answer, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(value_release) struct value *record = NULL;
	owned(fd_close) int dir_fd = -1;
	char hex[SHA256_HEX_SIZE];

	if (open_record(&store, id, &dir_fd, &record, err) < 0)
		return -1;
	if (answer == CONFLICT_FILE && keep_file(&store, file, hex, err) < 0)
		return -1;
	value_set(record, "resolution",
		  value_new_text(answer == CONFLICT_OURS     ? "ours"
				 : answer == CONFLICT_THEIRS ? "theirs"
							     : hex));
	if (write_record(dir_fd, record, err) < 0)
		return -1;
	record_event(&(struct record_event){ .kind = "conflict",
					     .sandbox = value_get_text(record, "sandbox"),
					     .id = id,
					     .body = record });
	*ret_answer = ptr_take(&record);
	return 0;
}

int app_conflict_side(const char *id, const char *side, struct str *ret_bytes, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(value_release) struct value *record = NULL;
	owned(fd_close) int dir_fd = -1, fd = -1;
	const struct value *map;
	const char *sha256;

	if (open_record(&store, id, &dir_fd, &record, err) < 0)
		return -1;
	map = value_get(record, side);
	sha256 = map ? value_get_text(map, "sha256") : NULL;
	if (!sha256)
		return error_set(err, ERROR_NOT_FOUND, "conflict %s: %s is no file", id, side);
	if (cas_open(&store, sha256, &fd, err) < 0)
		return -1;
	return fd_read_all(fd, CONTENT_MAX, ret_bytes) == 0
		       ? 0
		       : error_errno(err, ERROR_HOST, "conflict %s: %s", id, side);
}
