/* SPDX-License-Identifier: Apache-2.0 */
/* Promotions as they lie in the store: records written, read, listed. */
#include "workspace/base/promotion.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "workspace/disk/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIND "aisbx-promotion 1"

void promotion_entry_done(struct promotion_entry *entry)
{
	free(entry->sandbox);
	free(entry->sandbox_id);
	free(entry->target);
	free(entry->owner);
	free(entry->workspace);
	free(entry->directory);
	free(entry->state);
	*entry = (struct promotion_entry){ 0 };
}

char *promotion_place_above(const char *directory)
{
	owned(free_ptr) char *above = xstrdup(directory);

	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(above, '/');

		slash[slash == above] = '\0';
	}
	return ptr_take(&above);
}

int promotion_open_directory(const struct store *store, const char *name, int *ret_fd,
			     struct error *err)
{
	owned(free_ptr) char *path = xasprintf("promotions%s%s", *name ? "/" : "", name);
	int fd = openat(store->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST,
				   "promotion '%s'", name);
	*ret_fd = fd;
	return 0;
}

static void put_entry(struct str *text, const struct promotion_entry *entry)
{
	fields_begin(text, KIND);
	fields_put(text, "id", entry->id);
	fields_put(text, "sandbox", entry->sandbox);
	fields_put(text, "sandbox-id", entry->sandbox_id);
	fields_put(text, "target", entry->target);
	if (entry->owner)
		fields_put(text, "owner", entry->owner);
	if (entry->workspace)
		fields_put(text, "workspace", entry->workspace);
	if (entry->is_objects)
		fields_put(text, "part", "objects");
	if (entry->directory)
		fields_put(text, "directory", entry->directory);
	if (entry->place_ino) {
		fields_put_number(text, "place-inode", entry->place_ino);
		fields_put_number(text, "place-birth", entry->place_btime_ns);
	}
	fields_put(text, "state", entry->state);
	fields_put(text, "digest", entry->digest);
	fields_put_number(text, "made", entry->made_ms);
	fields_put_number(text, "undone", entry->undone_ms);
	fields_put_number(text, "files", entry->files);
	fields_end(text);
}

static bool is_state(const char *word)
{
	static const char *const states[] = { "pending", "live", "undone", "stuck", "kept" };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(states[i], word) == 0)
			return true;
	return false;
}

static char *optional(const struct fields *fields, const char *key)
{
	const char *value = fields_get(fields, key);

	return *value ? xstrdup(value) : NULL;
}

int promotion_parse(const char *bytes, size_t len, struct promotion_entry *ret_entry,
		    struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };
	struct promotion_entry entry = { 0 };

	if (fields_parse(bytes, len, KIND, &fields, err) < 0)
		return -1;
	if (!fields_copy(&fields, "id", entry.id, sizeof(entry.id)) ||
	    !fields_copy(&fields, "digest", entry.digest, sizeof(entry.digest)) ||
	    fields_get(&fields, "target")[0] != '/' || !is_state(fields_get(&fields, "state")))
		return error_set(err, ERROR_INPUT, "damaged: not a promotion");
	entry.sandbox = xstrdup(fields_get(&fields, "sandbox"));
	entry.sandbox_id = xstrdup(fields_get(&fields, "sandbox-id"));
	entry.target = xstrdup(fields_get(&fields, "target"));
	entry.owner = optional(&fields, "owner");
	entry.workspace = optional(&fields, "workspace");
	entry.is_objects = strcmp(fields_get(&fields, "part"), "objects") == 0;
	entry.directory = optional(&fields, "directory");
	entry.place_ino = fields_number(&fields, "place-inode");
	entry.place_btime_ns = fields_number(&fields, "place-birth");
	entry.state = xstrdup(fields_get(&fields, "state"));
	entry.made_ms = fields_number(&fields, "made");
	entry.undone_ms = fields_number(&fields, "undone");
	entry.files = fields_number(&fields, "files");
	*ret_entry = entry;
	return 0;
}

int promotion_read(const struct store *store, const char *id, struct promotion_entry *ret_entry,
		   struct error *err)
{
	owned(fd_close) int fd = -1;
	owned(str_done) struct str text = STR_INIT;

	if (promotion_open_directory(store, id, &fd, err) < 0 ||
	    fields_read_bytes(fd, "record", FIELDS_BYTES_MAX, &text, err) < 0)
		return -1;
	if (promotion_parse(str_cstr(&text), text.len, ret_entry, err) < 0)
		return error_context(err, "promotion %s", id);
	if (strcmp(ret_entry->id, id) == 0)
		return 0;
	promotion_entry_done(ret_entry);
	return error_set(err, ERROR_INPUT, "promotion %s: damaged: it says it is another", id);
}

static int make_directory(int dir_fd, const char *name, struct error *err)
{
	if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make '%s' in the store", name);
	return 0;
}

/* The mark that makes the next command look. */
static int mark_pending(int all_fd, const char *id, struct error *err)
{
	owned(free_ptr) char *mark = xasprintf("pending/%s", id);
	owned(fd_close) int fd = -1, dir_fd = -1;

	if (make_directory(all_fd, "pending", err) < 0)
		return -1;
	fd = openat(all_fd, mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	dir_fd = openat(all_fd, "pending", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || dir_fd < 0 || fsync(dir_fd) < 0 || fsync(all_fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot note that promotion %s begins", id);
	return 0;
}

int promotion_save(const struct store *store, const struct promotion_entry *entry, bool is_pending,
		   struct error *err)
{
	owned(fd_close) int all_fd = -1, fd = -1;
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *mark = xasprintf("pending/%s", entry->id);

	put_entry(&text, entry);
	if (promotion_open_directory(store, "", &all_fd, err) < 0 ||
	    promotion_open_directory(store, entry->id, &fd, err) < 0)
		return -1;
	if (is_pending && mark_pending(all_fd, entry->id, err) < 0)
		return -1;
	if (store_replace(fd, "record", str_cstr(&text), text.len, true, err) < 0)
		return -1;
	if (!is_pending && unlinkat(all_fd, mark, 0) < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "cannot note that promotion %s is done",
				   entry->id);
	return 0;
}

int promotion_lock(const struct store *store, const char *id, int *ret_lock_fd, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (promotion_open_directory(store, id, &fd, err) < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? error_set(err, ERROR_CONFLICT, "promotion %s is being worked on",
					   id)
			       : error_errno(err, ERROR_HOST, "cannot lock promotion %s", id);
	*ret_lock_fd = fd_take(&fd);
	return 0;
}

int promotion_begin(const struct store *store, const struct promotion_entry *entry,
		    const struct str *paths, int *ret_lock_fd, struct error *err)
{
	owned(fd_close) int all_fd = -1;

	if (promotion_open_directory(store, "", &all_fd, err) < 0 ||
	    make_directory(all_fd, entry->id, err) < 0 ||
	    promotion_lock(store, entry->id, ret_lock_fd, err) < 0)
		return -1;
	if (store_replace(*ret_lock_fd, "paths", str_cstr(paths), paths->len, true, err) < 0)
		return -1;
	return promotion_save(store, entry, true, err);
}

void promotion_drop(const struct store *store, const char *id)
{
	owned(fd_close) int all_fd = -1;
	owned(free_ptr) char *mark = xasprintf("pending/%s", id);
	struct error ignored = { 0 };

	if (promotion_open_directory(store, "", &all_fd, &ignored) < 0)
		return;
	/* Keep pending/ID while files are left, so that the next command tries again. */
	if (tree_remove(all_fd, id) == 0)
		(void)unlinkat(all_fd, mark, 0);
}

int promotion_is_undone(const struct store *store, const char *id, bool *ret_is_undone,
			struct error *err)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };

	*ret_is_undone = false;
	if (!*id)
		return 0;
	if (promotion_read(store, id, &entry, err) < 0)
		return err->code == ERROR_HOST ? -1 : 0;
	*ret_is_undone = entry.state && strcmp(entry.state, "undone") == 0;
	return 0;
}

/* Ids sort by the time they were made. */
static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

int promotion_ids(const struct store *store, struct strv *ret_ids, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct dirent *entry;
	int more;

	if (promotion_open_directory(store, "", &fd, err) < 0)
		return -1;
	owned(dir_close) DIR *dir = dir_take(&fd);

	while ((more = dir_next(dir, &entry)) > 0)
		if (strlen(entry->d_name) == LAYER_ID_SIZE - 1)
			strv_add(ret_ids, entry->d_name);
	if (more < 0)
		return error_errno(err, ERROR_HOST, "cannot list promotions");
	if (ret_ids->count > 1)
		qsort(ret_ids->items, ret_ids->count, sizeof(char *), compare_ids);
	return 0;
}
