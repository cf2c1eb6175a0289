/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage: layers and contents nothing refers to any more.
 *
 * What refers to them are small text files: heads, intents, snapshots, base identities, records of promotions. They are
 * not understood but searched for words that look like an id or a digest, so that one which is damaged, or of a kind
 * unknown to this file, still keeps what it names.
 */
#include "workspace/store/snapshot.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/cache.h"
#include "workspace/store/store_gc_scan.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_S 60 /* contents are kept before what names them is written */

struct known_layer {
	char id[LAYER_ID_SIZE];
	char parent[LAYER_ID_SIZE];
	bool is_readable, is_used;
};

struct collection {
	const struct store *store;
	struct known_layer *layers; /* sorted by id */
	size_t count;
	struct strv digests;
	struct strv *removed;
	int errnum; /* what kept us from looking at everything */
};

static int compare_layers(const void *a, const void *b)
{
	const struct known_layer *left = a, *right = b;

	return strcmp(left->id, right->id);
}

static void add_layer(struct collection *all, const char *id)
{
	struct error err = { .code = ERROR_NONE };
	struct known_layer layer = { .is_readable = false };
	struct layer_meta meta;

	(void)snprintf(layer.id, sizeof(layer.id), "%s", id);
	if (layer_meta_read(all->store, id, &meta, &err) == 0) {
		layer.is_readable = true;
		memcpy(layer.parent, meta.parent, sizeof(layer.parent));
	}
	if ((all->count & (all->count - 1)) == 0)
		all->layers = xrealloc(all->layers, all->count ? all->count * 2 : 1,
				       sizeof(all->layers[0]));
	all->layers[all->count++] = layer;
}

static int list_layers(struct collection *all, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(all->store->fd, "layers");
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0) {
		if (layer_id_is_valid(entry->d_name))
			add_layer(all, entry->d_name);
	}
	if (more < 0)
		return error_errno(err, ERROR_HOST, "cannot list the layers");
	if (all->count > 0)
		qsort(all->layers, all->count, sizeof(all->layers[0]), compare_layers);
	return 0;
}

static void scan_file(struct collection *all, const char *path);

/* Marks a layer and all it stands on. */
static void use_layer(struct collection *all, const char *id)
{
	struct known_layer wanted = { .is_used = false }, *found;

	for (;;) {
		if (!*id || all->count == 0)
			return;
		(void)snprintf(wanted.id, sizeof(wanted.id), "%s", id);
		found = bsearch(&wanted, all->layers, all->count, sizeof(all->layers[0]),
				compare_layers);
		if (!found || found->is_used)
			return;
		found->is_used = true;
		char path[LAYER_PATH_SIZE];

		(void)snprintf(path, sizeof(path), "layers/%s/touched", found->id);
		scan_file(all, path);
		(void)snprintf(path, sizeof(path), "layers/%s/folded", found->id);
		scan_file(all, path);
		if (!found->is_readable) {
			(void)snprintf(path, sizeof(path), "layers/%s/meta", found->id);
			scan_file(all, path);
		}
		id = found->parent;
	}
}

static void see_word(const char *word, size_t len, void *cookie)
{
	struct collection *all = cookie;

	if (len == LAYER_ID_SIZE - 1 && layer_id_is_valid(word))
		use_layer(all, word);
	else if (len == SCAN_WORD_MAX && strspn(word, "0123456789abcdef") == len)
		strv_add(&all->digests, word);
}

/* The size beyond which the reader of such a record refuses it. */
static size_t record_max(const char *path)
{
	static const char *const small[] = { "/meta", "/head", "/record" };

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		if (str_ends(path, small[i]))
			return FIELDS_BYTES_MAX;
	}
	return TOUCHED_MAX;
}

static void scan_file(struct collection *all, const char *path)
{
	owned(fd_close) int fd = file_open(all->store->fd, path, O_NOFOLLOW, NULL);

	/* A link or a device holds no record of ours, nor does what lies behind the largest one. */
	if (fd < 0 ? errno != ENOENT && errno != ELOOP && !file_is_other_kind(errno)
		   : store_gc_scan(fd, record_max(path), see_word, all) < 0)
		all->errnum = errno;
}

static void scan_directory(struct collection *all, const char *path, unsigned levels);

/* An entry of a directory that records lie in; in its subdirectories, too, LEVELS deep. */
static void scan_entry(struct collection *all, const char *path, const struct dirent *entry,
		       unsigned levels)
{
	owned(free_ptr) char *inner = xasprintf("%s/%s", path, entry->d_name);
	bool is_unknown = entry->d_type == DT_UNKNOWN;

	if (entry->d_type == DT_REG || is_unknown)
		scan_file(all, inner);
	if (levels > 0 && (entry->d_type == DT_DIR || is_unknown) &&
	    strcmp(entry->d_name, "upper") != 0)
		scan_directory(all, inner, levels - 1);
}

static void scan_directory(struct collection *all, const char *path, unsigned levels)
{
	owned(dir_close) DIR *dir = dir_open(all->store->fd, path);
	struct dirent *entry;
	int more;

	if (!dir && (errno == ENOENT || errno == ENOTDIR))
		return;
	while ((more = dir_next(dir, &entry)) > 0)
		scan_entry(all, path, entry, levels);
	if (more < 0)
		all->errnum = errno;
}

static void drop(struct collection *all, const char *path)
{
	struct error err = { .code = ERROR_NONE };

	if (store_trash(all->store, all->store->fd, path, &err) == 0)
		strv_add(all->removed, path);
}

/* A run stands on a cache that has been replaced since. */
static bool is_held(const struct store *store, const char *path)
{
	owned(fd_close) int fd =
		openat(store->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && store_flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static void drop_layers(struct collection *all)
{
	for (size_t i = 0; i < all->count; i++) {
		char path[LAYER_PATH_SIZE];

		if (all->layers[i].is_used)
			continue;
		(void)snprintf(path, sizeof(path), "layers/%s", all->layers[i].id);
		if (!is_held(all->store, path))
			drop(all, path);
	}
}

/* Leftovers of killed processes: under the exclusive lock none of them can still be at work. */
static void drop_drafts(struct collection *all, const char *place)
{
	owned(dir_close) DIR *dir = dir_open(all->store->fd, place);
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path = xasprintf("%s/%s", place, entry->d_name);

		if (str_starts(entry->d_name, ".new-"))
			drop(all, path);
	}
}

static void drop_content(struct collection *all, int dir_fd, const char *prefix, const char *name)
{
	owned(free_ptr) char *digest = xasprintf("%s%s", prefix, name);
	struct stat st;

	if (strv_has_sorted(&all->digests, digest))
		return;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode) ||
	    st.st_ctime + YOUNG_S > time(NULL))
		return;
	if (unlinkat(dir_fd, name, 0) == 0)
		strv_addf(all->removed, "cas/%s/%s", prefix, name);
}

static void drop_contents_under(struct collection *all, const char *prefix)
{
	owned(free_ptr) char *path = xasprintf("cas/%s", prefix);
	owned(dir_close) DIR *dir = dir_open(all->store->fd, path);
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (entry->d_name[0] != '.')
			drop_content(all, dirfd(dir), prefix, entry->d_name);
	}
}

static void drop_contents(struct collection *all)
{
	owned(dir_close) DIR *prefixes = dir_open(all->store->fd, "cas");
	struct dirent *prefix;

	strv_sort(&all->digests);
	while (dir_next(prefixes, &prefix) > 0) {
		if (prefix->d_name[0] != '.')
			drop_contents_under(all, prefix->d_name);
	}
}

static int collect(struct store *store, struct strv *removed, struct error *err)
{
	struct collection all = { .store = store, .removed = removed };
	int result = list_layers(&all, err);

	if (result == 0) {
		scan_directory(&all, "sbx", 2);
		scan_directory(&all, "promotions", 2);
		scan_directory(&all, "stages", 1);
		scan_directory(&all, "artifacts", 0);
		scan_directory(&all, "caches", 0);
		scan_directory(&all, "conflicts", 0);
		/* What was not seen may name anything. */
		errno = all.errnum;
		if (errno)
			result = error_errno(err, ERROR_HOST, "cannot look at all records");
	}
	if (result == 0) {
		drop_layers(&all);
		drop_drafts(&all, "layers");
		drop_drafts(&all, "sbx");
		drop_drafts(&all, "cas");
		drop_contents(&all);
	}
	free(all.layers);
	strv_done(&all.digests);
	return result;
}

int store_gc(struct store *store, struct strv *removed, struct error *err)
{
	bool was_locked = store->lock_fd >= 0;
	int result;

	if (!was_locked && store_open_lock_file(store->fd, "lock", &store->lock_fd, err) < 0)
		return -1;
	if (store_flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			error_set(err, ERROR_CONFLICT,
				  "the store is in use; what is garbage can wait");
		else
			error_errno(err, ERROR_HOST, "cannot lock the store");
		result = -1;
	} else {
		(void)unlinkat(store->fd, GC_FILE, 0);
		sandbox_sweep_all(store, removed);
		cache_sweep(store, false, removed);
		cache_sweep_tops(store, removed);
		result = collect(store, removed, err);
	}
	/* A lock that could not be had has cost the one that was held. */
	if (was_locked)
		(void)store_flock(store->lock_fd, LOCK_SH);
	else
		store_unlock(store);
	return result;
}
