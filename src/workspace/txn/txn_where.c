/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the directories of a transaction are.
 *
 * An item's path is meant as things are after all items before it. To find its directory at any moment, the path is
 * first followed back to the time before the first item (through moves, and into slots that hold what was not there yet),
 * which names the directory once and for all; from there forward through the items that are applied by now. A descriptor
 * once opened stays right whatever is renamed.
 */
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond that the one opened first is closed; it is found again when it is needed. */
#define OPEN_PARENTS_MAX 400

struct location {
	size_t slot;
	struct str path;
};

/* Whether PATH is PREFIX or lies below it; *ret_rest is what follows. */
static bool is_below(const char *path, const char *prefix, const char **ret_rest)
{
	size_t len = strlen(prefix);

	if (strncmp(path, prefix, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	*ret_rest = path[len] ? path + len + 1 : path + len;
	return true;
}

static void set_path(struct location *location, size_t slot, const char *above, const char *rest)
{
	struct str path = STR_INIT;

	str_add(&path, above);
	if (*above && *rest)
		str_add_char(&path, '/');
	str_add(&path, rest);
	str_done(&location->path);
	location->path = path;
	location->slot = slot;
}

/* From after item UNTIL - 1 to before the first. */
static void go_back(const struct txn *txn, size_t until, struct location *location)
{
	for (size_t i = txn->inner_count; i-- > 0;) {
		size_t at = txn->inner[i];
		const struct txn_item *item = &txn->items[at];
		const char *rest;

		if (at >= until || location->slot != TXN_NONE_INDEX || item->kind == TXN_DELETE)
			continue;
		bool moves = item->kind == TXN_MOVE;

		if (!is_below(str_cstr(&location->path), moves ? item->to : item->path, &rest))
			continue;
		set_path(location, moves ? TXN_NONE_INDEX : at, moves ? item->path : "", rest);
	}
}

/* Through the items that are applied now. */
static void go_forward(const struct txn *txn, struct location *location)
{
	for (size_t i = 0; i < txn->inner_count; i++) {
		size_t at = txn->inner[i];
		const struct txn_item *item = &txn->items[at];
		const char *rest = NULL;

		if (!item->is_new)
			continue;
		bool comes = location->slot == at && item->kind != TXN_DELETE;
		bool goes = location->slot == TXN_NONE_INDEX && item->kind != TXN_ADD &&
			    is_below(str_cstr(&location->path), item->path, &rest);

		if (comes)
			set_path(location, TXN_NONE_INDEX, item->path, str_cstr(&location->path));
		else if (goes && item->kind == TXN_MOVE)
			set_path(location, TXN_NONE_INDEX, item->to, rest);
		else if (goes)
			set_path(location, at, "", rest);
	}
}

static int open_directory(int dir_fd, const char *path)
{
	int fd = sys_open_beneath(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	/* One that its owner may not list can still be worked in. */
	return fd < 0 && errno == EACCES
		       ? sys_open_beneath(dir_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW)
		       : fd;
}

static int open_location(struct txn *txn, const struct location *location)
{
	const char *path = str_cstr(&location->path);
	char name[TXN_NAME_SIZE];
	int fd;

	if (location->slot == TXN_NONE_INDEX)
		return open_directory(txn->root_fd, *path ? path : ".");
	if (txn_slot(txn, location->slot, false, &fd, name) < 0)
		return -1;
	owned(free_ptr) char *below = xasprintf("%s%s%s", name, *path ? "/" : "", path);

	return open_directory(fd, below);
}

/* Until fewer than MOST are open. */
static void close_oldest(struct txn *txn, size_t most)
{
	while (txn->open_parents >= most) {
		size_t index = txn->oldest_parent++ % txn->parent_count;
		struct txn_parent *parent = &txn->parents[index];

		/* A rename takes two. */
		if (index == txn->recent_parents[0] || index == txn->recent_parents[1])
			continue;
		txn->open_parents -= parent->fd >= 0;
		fd_close(&parent->fd);
	}
}

static int parent_open(struct txn *txn, size_t index)
{
	struct txn_parent *parent = &txn->parents[index];
	struct location location = { .slot = parent->slot, .path = STR_INIT };

	if (txn->recent_parents[0] != index) {
		txn->recent_parents[1] = txn->recent_parents[0];
		txn->recent_parents[0] = index;
	}
	if (parent->fd >= 0)
		return parent->fd;
	close_oldest(txn, OPEN_PARENTS_MAX);
	str_add(&location.path, parent->path);
	go_forward(txn, &location);
	int fd = open_location(txn, &location);

	/* The caller may have most of what may be open; half of ours will do. */
	if (fd < 0 && errno == EMFILE && txn->open_parents > 8) {
		close_oldest(txn, txn->open_parents / 2);
		fd = open_location(txn, &location);
	}
	str_done(&location.path);
	parent->fd = fd;
	txn->open_parents += fd >= 0;
	return fd;
}

static size_t bucket_of(const struct txn *txn, const struct location *location)
{
	uint64_t mixed = 0xcbf29ce484222325u ^ location->slot;

	for (size_t i = 0; i < location->path.len; i++)
		mixed = (mixed ^ (unsigned char)location->path.data[i]) * 0x100000001b3u;
	return (mixed ^ mixed >> 29) & (txn->bucket_count - 1);
}

/* The parent of PATH as item AT means it; the list never has one twice. */
static size_t parent_find(struct txn *txn, size_t at, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct location location = { .slot = TXN_NONE_INDEX, .path = STR_INIT };

	str_add_bytes(&location.path, path, slash ? (size_t)(slash - path) : 0);
	go_back(txn, at, &location);
	size_t bucket = bucket_of(txn, &location), i = txn->buckets[bucket];

	while (i != TXN_NONE_INDEX && (txn->parents[i].slot != location.slot ||
				       strcmp(txn->parents[i].path, str_cstr(&location.path)) != 0))
		i = txn->parents[i].next;
	if (i == TXN_NONE_INDEX) {
		i = txn->parent_count++;
		txn->parents[i] = (struct txn_parent){
			.slot = location.slot,
			.path = str_detach(&location.path),
			.fd = -1,
			.next = txn->buckets[bucket],
		};
		txn->buckets[bucket] = i;
	}
	str_done(&location.path);
	return i;
}

static int compare_paths(const void *a, const void *b)
{
	const char *const *one = a, *const *other = b;

	return strcmp(*one, *other);
}

/* Whether one of the sorted paths lies below PATH. */
static bool has_below(const char **paths, size_t count, const char *path)
{
	owned(free_ptr) char *prefix = xasprintf("%s/", path);
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(paths[middle], prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && str_starts(paths[low], prefix);
}

/* Items that change where others are: what others lie below, and moved directories. */
static void find_inner(struct txn *txn)
{
	const char **paths = xcalloc(2 * txn->count + 1, sizeof(*paths));
	size_t count = 0;

	txn->inner = xcalloc(txn->count + 1, sizeof(*txn->inner));
	for (size_t i = 0; i < txn->count; i++) {
		paths[count++] = txn->items[i].path;
		if (txn->items[i].kind == TXN_MOVE)
			paths[count++] = txn->items[i].to;
	}
	qsort(paths, count, sizeof(*paths), compare_paths);
	for (size_t i = 0; i < txn->count; i++) {
		struct txn_item *item = &txn->items[i];

		item->has_inner = has_below(paths, count, item->path) ||
				  (item->kind == TXN_MOVE && has_below(paths, count, item->to));
		if (item->kind != TXN_META && item->has_inner)
			txn->inner[txn->inner_count++] = i;
	}
	free(paths);
}

int txn_where_prepare(struct txn *txn, struct error *err)
{
	find_inner(txn);
	txn->bucket_count = 64;
	while (txn->bucket_count < 2 * txn->count)
		txn->bucket_count *= 2;
	txn->buckets = xmalloc(txn->bucket_count * sizeof(*txn->buckets));
	for (size_t i = 0; i < txn->bucket_count; i++)
		txn->buckets[i] = TXN_NONE_INDEX;
	txn->parents = xcalloc(2 * txn->count + 1, sizeof(*txn->parents));
	for (size_t i = 0; i < txn->count; i++) {
		struct txn_item *item = &txn->items[i];

		if (item->kind == TXN_META)
			continue;
		item->parent = parent_find(txn, i, item->path);
		if (item->kind == TXN_MOVE)
			item->to_parent = parent_find(txn, i, item->to);
	}
	if (txn->count > 0 && !txn->items)
		return error_set(err, ERROR_INTERNAL, "a transaction without items");
	return 0;
}

int txn_where(struct txn *txn, size_t item, bool to, int *ret_fd, const char **ret_name)
{
	const struct txn_item *which = &txn->items[item];
	const char *path = to ? which->to : which->path, *slash = strrchr(path, '/');
	int fd = parent_open(txn, to ? which->to_parent : which->parent);

	if (fd < 0)
		return -1;
	*ret_fd = fd;
	*ret_name = slash ? slash + 1 : path;
	return 0;
}

int txn_slot(struct txn *txn, size_t item, bool as_backup, int *ret_fd,
	     char ret_name[static TXN_NAME_SIZE])
{
	const struct txn_place *place = &txn->places[txn->items[item].place];
	const char *name, *ending = as_backup ? ".old" : "";

	if (*place->path) {
		*ret_fd = place->fd;
		(void)snprintf(ret_name, TXN_NAME_SIZE, "%zu%s", item, ending);
		return 0;
	}
	(void)snprintf(ret_name, TXN_NAME_SIZE, ".aisbx-%.40s-%zu%s", txn->id, item, ending);
	return txn_where(txn, item, false, ret_fd, &name);
}

int txn_where_directory(struct txn *txn, size_t item, int flags)
{
	struct location location = { .slot = TXN_NONE_INDEX, .path = STR_INIT };
	char name[TXN_NAME_SIZE];
	int fd = txn->root_fd;

	str_add(&location.path, txn->items[item].path);
	go_back(txn, item, &location);
	go_forward(txn, &location);
	owned(free_ptr) char *path = str_detach(&location.path);

	if (location.slot == TXN_NONE_INDEX)
		return sys_open_beneath(fd, *path ? path : ".", flags | O_DIRECTORY | O_NOFOLLOW);
	if (txn_slot(txn, location.slot, false, &fd, name) < 0)
		return -1;
	owned(free_ptr) char *below = xasprintf("%s%s%s", name, *path ? "/" : "", path);

	return sys_open_beneath(fd, below, flags | O_DIRECTORY | O_NOFOLLOW);
}

/* Whether the directory of an item's path, opened anew, is the one that was worked in. */
static bool is_still_there(struct txn *txn, const struct txn_parent *parent)
{
	struct location location = { .slot = parent->slot, .path = STR_INIT };
	struct stat before, now;

	str_add(&location.path, parent->path);
	go_forward(txn, &location);
	owned(fd_close) int fd = open_location(txn, &location);

	str_done(&location.path);
	return fd >= 0 && fstat(fd, &now) == 0 && fstat(parent->fd, &before) == 0 &&
	       now.st_ino == before.st_ino && now.st_dev == before.st_dev;
}

int txn_where_check(struct txn *txn, size_t *ret_item)
{
	for (size_t i = 0; i < txn->parent_count; i++) {
		const struct txn_parent *parent = &txn->parents[i];
		size_t item = 0;

		if (parent->fd < 0 || !parent->is_touched || is_still_there(txn, parent))
			continue;
		while (item < txn->count && txn->items[item].parent != i &&
		       txn->items[item].to_parent != i)
			item++;
		*ret_item = item;
		errno = ESTALE;
		return -1;
	}
	return 0;
}

void txn_where_close(struct txn *txn)
{
	for (size_t i = 0; i < txn->parent_count; i++)
		fd_close(&txn->parents[i].fd);
	txn->open_parents = 0;
}

void txn_where_done(struct txn *txn)
{
	txn_where_close(txn);
	for (size_t i = 0; i < txn->parent_count; i++)
		free(txn->parents[i].path);
	free(txn->parents);
	free(txn->inner);
	free(txn->buckets);
	txn->parents = NULL;
	txn->inner = txn->buckets = NULL;
	txn->parent_count = txn->inner_count = txn->open_parents = 0;
}
