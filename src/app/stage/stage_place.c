/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles on their way as they lie in the store. */
#include "app/stage/stage_parts.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/sandbox/sandbox.h"
#include "app/change/workspace_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define RECORD_MAX ((size_t)1 << 20)
#define BUNDLE_MAX ((size_t)256 << 20)
#define PREFIX_MIN 4

void stage_place_init(struct stage_place *place)
{
	memset(place, 0, sizeof(*place));
	place->dir_fd = place->lock_fd = -1;
	stage_record_init(&place->record);
	bundle_init(&place->bundle);
}

void stage_place_close(struct stage_place *place)
{
	stage_record_done(&place->record);
	bundle_done(&place->bundle);
	fd_close(&place->dir_fd);
	fd_close(&place->lock_fd);
	if (place->has_store)
		store_close(&place->store);
	stage_place_init(place);
}

static int open_store(struct stage_place *place, struct error *err)
{
	if (place->has_store)
		return 0;
	if (app_store(&place->store, err) < 0)
		return -1;
	place->has_store = true;
	return 0;
}

static int open_all(const struct stage_place *place, struct error *err)
{
	int fd;

	if (mkdirat(place->store.fd, "stages", 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make 'stages' in the store");
	fd = openat(place->store.fd, "stages", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_errno(err, ERROR_HOST, "cannot open 'stages' in the store");
}

struct dated {
	struct timespec made;
	char *name;
};

static int compare_dated(const void *a, const void *b)
{
	const struct dated *left = a, *right = b;

	if (left->made.tv_sec != right->made.tv_sec)
		return left->made.tv_sec < right->made.tv_sec ? 1 : -1;
	return left->made.tv_nsec < right->made.tv_nsec ? 1 : -1;
}

/* Sorted by when the record was last written; what has none was never begun. */
static void sort_names(int all_fd, struct strv *names, struct strv *ret_names)
{
	struct dated *rows = xcalloc(names->count + 1, sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < names->count; i++) {
		owned(free_ptr) char *path = xasprintf("%s/record", names->items[i]);
		struct stat st;

		if (fstatat(all_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			rows[count++] = (struct dated){ st.st_mtim, names->items[i] };
	}
	if (count > 1)
		qsort(rows, count, sizeof(*rows), compare_dated);
	for (size_t i = 0; i < count; i++)
		strv_add(ret_names, rows[i].name);
	free(rows);
}

int stage_place_list(struct stage_place *place, struct strv *ret_names, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(fd_close) int fd = open_store(place, err) < 0 ? -1 : open_all(place, err);
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;
	int got;

	if (fd < 0)
		return -1;
	dir = dir_take(&fd);
	while ((got = dir_next(dir, &entry)) > 0) {
		if (sha256_is_hex(entry->d_name))
			strv_add(&names, entry->d_name);
	}
	if (got < 0)
		return error_errno(err, ERROR_HOST, "cannot list bundles");
	sort_names(dirfd(dir), &names, ret_names);
	return 0;
}

/* The one bundle whose name begins so. */
static int find_name(struct stage_place *place, const char *prefix, char **ret_name,
		     struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	char shown[STR_SHOWN_SIZE];

	if (strlen(prefix) < PREFIX_MIN)
		return error_set(err, ERROR_USAGE, "'%s' is too short for a bundle's name",
				 str_shown(prefix, shown));
	if (stage_place_list(place, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		if (!str_starts(names.items[i], prefix))
			continue;
		if (*ret_name)
			return error_set(err, ERROR_USAGE, "several bundles begin with '%s'",
					 str_shown(prefix, shown));
		*ret_name = xstrdup(names.items[i]);
	}
	if (!*ret_name)
		return error_advise(err, ERROR_NOT_FOUND, "aisbx stage status lists them",
				    "there is no bundle '%s'", str_shown(prefix, shown));
	return 0;
}

static int open_directory(struct stage_place *place, const char *name, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("stages/%s", name);

	fd_close(&place->dir_fd);
	place->dir_fd =
		openat(place->store.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return place->dir_fd >= 0 ? 0 : error_errno(err, ERROR_HOST, "bundle %.12s", name);
}

static int read_record(struct stage_place *place, const char *name, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	stage_record_done(&place->record);
	if (file_read(place->dir_fd, "record", RECORD_MAX, &text, err) < 0 ||
	    stage_record_read(str_cstr(&text), text.len, &place->record, err) < 0)
		return error_context(err, "bundle %.12s", name);
	if (strcmp(place->record.bundle, name) != 0)
		return error_set(err, ERROR_INPUT, "bundle %.12s: damaged: it says it is another",
				 name);
	return 0;
}

int stage_place_open(struct stage_place *place, const char *name, struct error *err)
{
	owned(free_ptr) char *found = NULL;

	if (open_store(place, err) < 0 || find_name(place, name, &found, err) < 0 || !found ||
	    open_directory(place, found, err) < 0)
		return -1;
	return read_record(place, found, err);
}

/* A lock of this process alone: one that children inherit would outlive a killed run for as long as they do. */
static int take_lock(struct stage_place *place, const char *name, struct error *err)
{
	const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	fd_close(&place->lock_fd);
	place->lock_fd = openat(place->dir_fd, "lock",
				O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (place->lock_fd < 0)
		return error_errno(err, ERROR_HOST, "bundle %.12s", name);
	if (fcntl(place->lock_fd, F_SETLK, &whole) == 0)
		return 0;
	return error_set(err, ERROR_CONFLICT, "bundle %.12s is being staged by another process",
			 name);
}

/* The contents match the digest in the name, or they are not used. */
static int read_bundle(struct stage_place *place, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	bundle_done(&place->bundle);
	if (file_read(place->dir_fd, "bundle", BUNDLE_MAX, &text, err) < 0)
		return -1;
	sha256_hex(str_cstr(&text), text.len, hex);
	if (strcmp(hex, place->record.bundle) != 0)
		return error_set(err, ERROR_INPUT, "bundle %.12s is damaged", place->record.bundle);
	return bundle_read(str_cstr(&text), text.len, &place->bundle, err);
}

int stage_place_lock(struct stage_place *place, struct error *err)
{
	owned(free_ptr) char *name = xstrdup(place->record.bundle);

	if (take_lock(place, name, err) < 0 || read_record(place, name, err) < 0)
		return -1;
	return read_bundle(place, err);
}

int stage_place_save(struct stage_place *place, struct error *err)
{
	owned(value_release) struct value *value = stage_record_write(&place->record);
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, value, 0);
	return store_replace(place->dir_fd, "record", str_cstr(&text), text.len, true, err);
}

/* Where it comes from now; how far it is in its stages stays. */
static void take_source(struct stage_record *record, const struct stage_record *like)
{
	char **to[] = { &record->sandbox, &record->sandbox_id, &record->snapshot,
			&record->workspace, &record->pipeline };
	char *const from[] = { like->sandbox, like->sandbox_id, like->snapshot, like->workspace,
			       like->pipeline };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		free(*to[i]);
		*to[i] = xstrdup(from[i]);
	}
}

/* The same bundle again, from a sandbox that has it as a change: what it was live in may be anything by now. */
static void check_anew(struct stage_record *record)
{
	for (size_t i = 0; i < record->count; i++) {
		struct stage_entry *entry = &record->entries[i];
		struct error ignored;

		if (entry->state == STAGE_LIVE)
			(void)stage_entry_move(entry, STAGE_ROLLED_BACK, "staged anew", &ignored);
	}
}

int stage_place_make(struct stage_place *place, const struct stage_record *like, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int all_fd = -1;
	char name[SHA256_HEX_SIZE];
	bool is_new;

	bundle_write(&place->bundle, &text);
	sha256_hex(str_cstr(&text), text.len, name);
	all_fd = open_store(place, err) < 0 ? -1 : open_all(place, err);
	if (all_fd < 0)
		return -1;
	if (mkdirat(all_fd, name, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make bundle %.12s", name);
	if (open_directory(place, name, err) < 0 || take_lock(place, name, err) < 0)
		return -1;
	is_new = faccessat(place->dir_fd, "record", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	if (!is_new && read_record(place, name, err) < 0)
		return -1;
	if (is_new) {
		memcpy(place->record.bundle, name, sizeof(name));
		place->record.made_ms = clock_epoch_ms();
	}
	check_anew(&place->record);
	take_source(&place->record, like);
	if (store_replace(place->dir_fd, "bundle", str_cstr(&text), text.len, true, err) < 0)
		return -1;
	return stage_place_save(place, err);
}

bool stage_place_is_approved(const struct stage_place *place, const char *stage)
{
	owned(free_ptr) char *file = xasprintf("approved-%s", stage);

	return faccessat(place->dir_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct value *stage_describe(const struct stage_place *place)
{
	struct value *answer = stage_record_write(&place->record);
	struct value *list = value_get(answer, "stages");

	value_set(answer, "made", workspace_time(place->record.made_ms));
	value_free(value_take(answer, "made_ms"));
	value_free(value_take(answer, "sandbox_id"));
	for (size_t i = 0; i < list->many.count; i++) {
		const struct stage_entry *entry = &place->record.entries[i];
		struct value *row = list->many.items[i];
		bool may_undo = entry->promotion && entry->state == STAGE_LIVE;
		owned(free_ptr) char *undo =
			may_undo ? xasprintf("aisbx undo %s", entry->promotion) : NULL;

		value_free(value_take(row, "clone"));
		value_free(value_take(row, "digest"));
		value_free(value_take(row, "changed_ms"));
		value_add(row, "undo", value_new_text(undo));
		value_add(row, "changed", workspace_time(entry->changed_ms));
		struct stage_approvals approvals;
		struct value *uids = value_new_list();

		stage_approvals_read(place, entry->name, &approvals);
		for (size_t j = 0; j < approvals.count; j++)
			value_append(uids, value_new_int(approvals.uids[j]));
		value_add(row, "approved", value_new_bool(approvals.count > 0));
		value_add(row, "approved_by", uids);
	}
	return answer;
}
