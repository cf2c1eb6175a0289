/* SPDX-License-Identifier: Apache-2.0 */
/* Sealing: the steps in their order, each of which may be the last before a kill, and what finishes them. */
#include "workspace/store/layer_commit.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/snapshot_parts.h"
#include "workspace/store/store_parts.h"
#include "workspace/store/unsynced.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING_KIND "aisbx-pending 1"

void layer_commit_done(struct layer_commit *seal)
{
	snapshot_done(&seal->snapshot);
}

/* The records of layer and snapshot stand in it as they will be written. */
void layer_commit_format(const struct layer_commit *seal, struct str *out)
{
	owned(str_done) struct str layer = STR_INIT, snapshot = STR_INIT;

	layer_meta_format(&seal->layer, &layer);
	snapshot_format(&seal->snapshot, &snapshot);
	fields_begin(out, PENDING_KIND);
	fields_put(out, "layer", str_cstr(&layer));
	fields_put(out, "name", seal->snapshot.name);
	fields_put(out, "snapshot", str_cstr(&snapshot));
	fields_put(out, "head", seal->head);
	fields_put(out, "at", seal->at);
	fields_put_number(out, "last-snap", seal->last_snap);
	fields_put_number(out, "last-auto", seal->last_auto);
	fields_end(out);
}

int layer_commit_parse(const char *bytes, size_t len, struct layer_commit *ret_seal,
		       struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };
	struct layer_commit seal = { 0 };
	const char *layer, *name, *snapshot;

	if (fields_parse(bytes, len, PENDING_KIND, &fields, err) < 0)
		return -1;
	layer = fields_get(&fields, "layer");
	name = fields_get(&fields, "name");
	snapshot = fields_get(&fields, "snapshot");
	if (!fields_copy(&fields, "head", seal.head, sizeof(seal.head)) ||
	    !fields_copy(&fields, "at", seal.at, sizeof(seal.at)) ||
	    (seal.head[0] && !layer_id_is_valid(seal.head)) ||
	    (seal.at[0] && !sandbox_name_is_valid(seal.at)) || !sandbox_name_is_valid(name))
		return error_set(err, ERROR_INPUT, "damaged: not the record of a seal");
	if (layer_meta_parse(layer, strlen(layer), &seal.layer, err) < 0 ||
	    snapshot_parse(snapshot, strlen(snapshot), name, &seal.snapshot, err) < 0)
		return -1;
	seal.last_snap = fields_number(&fields, "last-snap");
	seal.last_auto = fields_number(&fields, "last-auto");
	*ret_seal = seal;
	return 0;
}

/* 1 when the directory holds something, 0, or -1 with errno. */
static int holds_entries(int dir_fd, const char *name)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, name);
	struct dirent *entry;

	return dir_next(dir, &entry);
}

int layer_commit_top_is_dirty(const struct sandbox *sandbox, bool *ret_dirty, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(sandbox->dir_fd, "upper");
	struct dirent *entry;
	int holds = 0, more = -1;

	*ret_dirty = false;
	if (!dir && errno == ENOENT)
		return 0;
	while (dir && holds == 0 && (more = dir_next(dir, &entry)) > 0) {
		if (str_starts(entry->d_name, "u-"))
			holds = holds_entries(dirfd(dir), entry->d_name);
	}
	if (holds < 0 || more < 0)
		error_errno(err, ERROR_HOST, "cannot look at the top of '%s'", sandbox->name);
	*ret_dirty = holds > 0;
	return holds < 0 || more < 0 ? -1 : 0;
}

/*
 * Stands LAYER on the sandbox's head, or on the one that shows the same with less below it. A head that is damaged must
 * not keep what lies on it from being saved.
 */
static int stand_on(const struct sandbox *sandbox, struct layer_meta *layer, struct error *err)
{
	struct layer_meta parent;

	if (layer_meta_read(sandbox->store, sandbox->head, &parent, err) < 0) {
		if (err->code != ERROR_INPUT && err->code != ERROR_NOT_FOUND)
			return -1;
		parent = (struct layer_meta){ .is_on_torn = true };
		memcpy(parent.id, sandbox->head, sizeof(parent.id));
	} else if (parent.depth > LAYER_DEPTH_MAX) {
		(void)flatten_find_twin(sandbox->store, sandbox->head, &parent);
	}
	memcpy(layer->parent, parent.id, sizeof(layer->parent));
	layer->depth = parent.depth + 1;
	layer->is_on_torn = layer_is_torn(&parent, layer->boot_id);
	return 0;
}

int layer_commit_describe_layer(const struct sandbox *sandbox, struct layer_meta *ret_meta,
				struct error *err)
{
	struct layer_meta meta = { .sealed_ms = clock_epoch_ms(),
				   .depth = 1,
				   .user_xattr = sandbox_has_user_xattr(sandbox) };

	if (id_run(meta.id, err) < 0 || store_boot_id(meta.boot_id, err) < 0)
		return -1;
	memcpy(meta.sandbox, sandbox->id, sizeof(meta.sandbox));
	if (sandbox->head[0] && stand_on(sandbox, &meta, err) < 0)
		return -1;
	/* Written in an earlier boot, it may have been cut short: sealing does not heal it. */
	if (sandbox->upper_boot_id[0])
		memcpy(meta.boot_id, sandbox->upper_boot_id, sizeof(meta.boot_id));
	*ret_meta = meta;
	return 0;
}

int layer_commit_write_layer(const struct store *store, const struct layer_meta *meta,
			     struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char path[LAYER_PATH_SIZE];

	if (unsynced_add(store, meta->id, err) < 0)
		return -1;
	layer_meta_format(meta, &text);
	(void)snprintf(path, sizeof(path), "layers/%s/meta", meta->id);
	return store_write(store->fd, path, text.data, text.len, err);
}

int layer_commit_write_snapshot(const struct sandbox *sandbox, const struct snapshot *snapshot,
				struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *path = xasprintf("snaps/%s", snapshot->name);
	struct error first = { .code = ERROR_NONE };

	snapshot_format(snapshot, &text);
	if (store_write(sandbox->dir_fd, path, text.data, text.len, &first) == 0)
		return 0;
	if (first.errnum != ENOENT) {
		*err = first;
		return -1;
	}
	if (mkdirat(sandbox->dir_fd, "snaps", 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make 'snaps'");
	return store_write(sandbox->dir_fd, path, text.data, text.len, err);
}

/*
 * A start that was killed may have left the top passing its project on: nothing of another project can be renamed into
 * it, and what is made in it is of its own.
 */
static int move_touched(const struct sandbox *sandbox, const char *place, struct error *err)
{
	const struct store *store = sandbox->store;
	owned(str_done) struct str text = STR_INIT;

	if (renameat(sandbox->dir_fd, "touched", store->fd, place) == 0 || errno == ENOENT)
		return 0;
	if (errno != EXDEV)
		return error_errno(err, ERROR_HOST, "cannot move 'touched'");
	if (fields_read_bytes(sandbox->dir_fd, "touched", TOUCHED_MAX, &text, err) < 0 ||
	    store_write(store->fd, place, text.data, text.len, err) < 0)
		return -1;
	if (unlinkat(sandbox->dir_fd, "touched", 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot move 'touched'");
	return 0;
}

/* From the moved top on; each step may have been done before. The overlay's scratch in it is left to the sync. */
static int finish(struct sandbox *sandbox, const struct layer_commit *seal, int pending_fd,
		  struct error *err)
{
	const struct store *store = sandbox->store;
	char place[LAYER_PATH_SIZE];

	(void)snprintf(place, sizeof(place), "layers/%s/touched", seal->layer.id);
	if (move_touched(sandbox, place, err) < 0 ||
	    layer_commit_write_layer(store, &seal->layer, err) < 0 ||
	    layer_commit_write_snapshot(sandbox, &seal->snapshot, err) < 0)
		return -1;
	memcpy(sandbox->head, seal->head, sizeof(sandbox->head));
	memcpy(sandbox->at, seal->at, sizeof(sandbox->at));
	sandbox->last_snap = seal->last_snap;
	sandbox->last_auto = seal->last_auto;
	sandbox->upper_boot_id[0] = '\0';
	if (sandbox_write_head(sandbox, err) < 0)
		return -1;
	if (ftruncate(pending_fd, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot end the seal");
	return 0;
}

bool layer_commit_is_pending(const struct sandbox *sandbox)
{
	struct stat st;

	return fstatat(sandbox->dir_fd, SEAL_PENDING, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (!S_ISREG(st.st_mode) || st.st_size > 0);
}

static int open_pending(const struct sandbox *sandbox)
{
	return openat(sandbox->dir_fd, SEAL_PENDING,
		      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* The file stays for the next time, empty: that is a fraction of what making one costs. */
int layer_commit_run(struct sandbox *sandbox, const struct layer_commit *seal, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int pending_fd = open_pending(sandbox);
	char place[LAYER_PATH_SIZE];

	layer_commit_format(seal, &text);
	(void)snprintf(place, sizeof(place), "layers/%s", seal->layer.id);
	if (pending_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot begin to seal '%s'", sandbox->name);
	if (fd_write_all(pending_fd, text.data, text.len) < 0 ||
	    renameat(sandbox->dir_fd, "upper", sandbox->store->fd, place) < 0) {
		error_errno(err, ERROR_HOST, "cannot seal the top of '%s'", sandbox->name);
		(void)!ftruncate(pending_fd, 0);
		return -1;
	}
	if (finish(sandbox, seal, pending_fd, err) < 0)
		return error_context(err, "sealing '%s' goes on with the next command",
				     sandbox->name);
	return 0;
}

int layer_commit_recover(struct sandbox *sandbox, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(layer_commit_done) struct layer_commit seal = { 0 };
	owned(fd_close) int pending_fd = -1;
	struct error why = { .code = ERROR_NONE };
	char place[LAYER_PATH_SIZE];

	/* Nothing follows the intent before it is whole. */
	if (fields_read_bytes(sandbox->dir_fd, SEAL_PENDING, FIELDS_BYTES_MAX, &text, &why) < 0 ||
	    layer_commit_parse(str_cstr(&text), text.len, &seal, &why) < 0)
		return store_trash(sandbox->store, sandbox->dir_fd, SEAL_PENDING, err);
	(void)snprintf(place, sizeof(place), "layers/%s", seal.layer.id);
	if (faccessat(sandbox->store->fd, place, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return store_trash(sandbox->store, sandbox->dir_fd, SEAL_PENDING, err);
	pending_fd = open_pending(sandbox);
	if (pending_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open an interrupted seal");
	if (sandbox_read_head(sandbox, err) < 0 || finish(sandbox, &seal, pending_fd, err) < 0)
		return error_context(err, "finishing an interrupted seal of '%s'", sandbox->name);
	return 0;
}
