/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: names for layers, as a tree. */
#include "workspace/store/snapshot.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "workspace/store/copy.h"
#include "workspace/disk/fields.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/snapshot_parts.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SNAPSHOT_KIND "aisbx-snapshot 1"
#define MESSAGE_MAX (16u << 10)
#define LIST_MAX 100000u
#define DEPTH_LIMIT 400u

void snapshot_done(struct snapshot *snapshot)
{
	free(snapshot->message);
	snapshot->message = NULL;
}

void snapshots_done(struct snapshots *list)
{
	for (size_t i = 0; i < list->count; i++)
		snapshot_done(&list->items[i]);
	free(list->items);
	*list = (struct snapshots){ 0 };
}

void snapshot_format(const struct snapshot *snapshot, struct str *out)
{
	fields_begin(out, SNAPSHOT_KIND);
	fields_put(out, "layer", snapshot->layer);
	fields_put(out, "parent", snapshot->parent);
	if (snapshot->message)
		fields_put(out, "message", snapshot->message);
	fields_put_number(out, "made", snapshot->made_ms);
	fields_put_number(out, "auto", snapshot->is_auto);
	fields_end(out);
}

int snapshot_parse(const char *bytes, size_t len, const char *name, struct snapshot *ret_snapshot,
		   struct error *err)
{
	owned(fields_done) struct fields fields = { 0 };
	struct snapshot snapshot = { 0 };

	if (fields_parse(bytes, len, SNAPSHOT_KIND, &fields, err) < 0)
		return -1;
	if (!fields_copy(&fields, "layer", snapshot.layer, sizeof(snapshot.layer)) ||
	    !fields_copy(&fields, "parent", snapshot.parent, sizeof(snapshot.parent)) ||
	    (snapshot.layer[0] && !layer_id_is_valid(snapshot.layer)) ||
	    (snapshot.parent[0] && !sandbox_name_is_valid(snapshot.parent)))
		return error_set(err, ERROR_INPUT, "damaged: not the record of a snapshot");
	(void)snprintf(snapshot.name, sizeof(snapshot.name), "%s", name);
	snapshot.made_ms = fields_number(&fields, "made");
	snapshot.is_auto = fields_number(&fields, "auto") == 1;
	for (size_t i = 0; i < fields.count && !snapshot.message; i++) {
		if (strcmp(fields.items[i].key, "message") == 0)
			snapshot.message = xstrdup(fields.items[i].value);
	}
	*ret_snapshot = snapshot;
	return 0;
}

/* What does not stand in its own file. A layer that cannot be read back is not whole either. */
static void judge(const struct sandbox *sandbox, const char *boot_id, struct snapshot *snapshot)
{
	struct error err = { .code = ERROR_NONE };
	struct layer_meta meta;

	snapshot->is_current = strcmp(snapshot->name, sandbox->at) == 0;
	if (snapshot->layer[0])
		snapshot->is_torn =
			layer_meta_read(sandbox->store, snapshot->layer, &meta, &err) < 0 ||
			layer_is_torn(&meta, boot_id);
}

static int read_snapshot(const struct sandbox *sandbox, const char *name,
			 struct snapshot *ret_snapshot, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *path = xasprintf("snaps/%s", name);

	if (fields_read_bytes(sandbox->dir_fd, path, FIELDS_BYTES_MAX, &text, err) < 0)
		return -1;
	if (snapshot_parse(str_cstr(&text), text.len, name, ret_snapshot, err) < 0)
		return error_context(err, "snapshot '%s'", name);
	return 0;
}

int snapshot_find(const struct sandbox *sandbox, const char *name, struct snapshot *ret_snapshot,
		  struct error *err)
{
	char boot_id[37], shown[STR_SHOWN_SIZE];

	if (!sandbox_name_is_valid(name))
		return error_set(err, ERROR_USAGE, "'%s' cannot be the name of a snapshot",
				 str_shown(name, shown));
	if (strcmp(name, SNAPSHOT_BASE) == 0) {
		*ret_snapshot =
			(struct snapshot){ .name = SNAPSHOT_BASE, .is_current = !sandbox->at[0] };
		return 0;
	}
	if (store_boot_id(boot_id, err) < 0)
		return -1;
	if (read_snapshot(sandbox, name, ret_snapshot, err) < 0) {
		if (err->code == ERROR_NOT_FOUND)
			return sandbox_not_found(sandbox->dir_fd, "snaps", "snapshot", name, err);
		return -1;
	}
	judge(sandbox, boot_id, ret_snapshot);
	return 0;
}

/* By time; within a millisecond by number. */
static int compare_snapshots(const void *a, const void *b)
{
	const struct snapshot *left = a, *right = b;
	size_t left_len = strlen(left->name), right_len = strlen(right->name);

	if (left->made_ms != right->made_ms)
		return left->made_ms < right->made_ms ? -1 : 1;
	if (left_len != right_len)
		return left_len < right_len ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void add_snapshot(const struct sandbox *sandbox, const char *name, const char *boot_id,
			 struct snapshots *list)
{
	struct error err = { .code = ERROR_NONE };
	struct snapshot snapshot = { .name = "" };

	/* One that is damaged must not hide the others. */
	if (!sandbox_name_is_valid(name) || list->count == LIST_MAX ||
	    read_snapshot(sandbox, name, &snapshot, &err) < 0)
		return;
	judge(sandbox, boot_id, &snapshot);
	if ((list->count & (list->count - 1)) == 0)
		list->items = xrealloc(list->items, list->count ? list->count * 2 : 1,
				       sizeof(list->items[0]));
	list->items[list->count++] = snapshot;
}

int snapshot_list(const struct sandbox *sandbox, struct snapshots *ret_list, struct error *err)
{
	char boot_id[37];
	owned(dir_close) DIR *dir = NULL;
	struct dirent *entry;
	int more;

	*ret_list = (struct snapshots){ 0 };
	if (store_boot_id(boot_id, err) < 0)
		return -1;
	dir = dir_open(sandbox->dir_fd, "snaps");
	if (!dir && errno == ENOENT)
		return 0;
	while ((more = dir_next(dir, &entry)) > 0)
		add_snapshot(sandbox, entry->d_name, boot_id, ret_list);
	if (more < 0) {
		error_errno(err, ERROR_HOST, "cannot list the snapshots of '%s'", sandbox->name);
		snapshots_done(ret_list);
		return -1;
	}
	if (ret_list->count > 0)
		qsort(ret_list->items, ret_list->count, sizeof(ret_list->items[0]),
		      compare_snapshots);
	return 0;
}

static bool is_taken(const struct sandbox *sandbox, const char *name)
{
	owned(free_ptr) char *path = xasprintf("snaps/%s", name);

	return faccessat(sandbox->dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The next name of its kind; people may have given such names themselves. */
static void number_it(const struct sandbox *sandbox, const char *prefix, uint64_t *number,
		      struct snapshot *snapshot)
{
	do
		(void)snprintf(snapshot->name, sizeof(snapshot->name), "%s%llu", prefix,
			       (unsigned long long)++*number);
	while (is_taken(sandbox, snapshot->name));
}

static int name_it(const struct sandbox *sandbox, const struct snapshot_request *request,
		   struct layer_commit *seal, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (request->is_auto && !request->name) {
		number_it(sandbox, "auto", &seal->last_auto, &seal->snapshot);
		return 0;
	}
	if (!request->name) {
		number_it(sandbox, "s", &seal->last_snap, &seal->snapshot);
		return 0;
	}
	if (!sandbox_name_is_valid(request->name) || strcmp(request->name, SNAPSHOT_BASE) == 0)
		return error_set(err, ERROR_USAGE, "'%s' cannot be the name of a snapshot",
				 str_shown(request->name, shown));
	if (is_taken(sandbox, request->name))
		return error_set(err, ERROR_CONFLICT, "'%s' has a snapshot '%s' already",
				 sandbox->name, request->name);
	(void)snprintf(seal->snapshot.name, sizeof(seal->snapshot.name), "%s", request->name);
	return 0;
}

int snapshot_plan(const struct sandbox *sandbox, const struct snapshot_request *request,
		  struct layer_commit *ret_seal, struct error *err)
{
	struct layer_commit seal = { .last_snap = sandbox->last_snap,
				     .last_auto = sandbox->last_auto };

	if (request->message && strlen(request->message) > MESSAGE_MAX)
		return error_set(err, ERROR_USAGE, "a message has at most %u bytes", MESSAGE_MAX);
	if (name_it(sandbox, request, &seal, err) < 0)
		return -1;
	memcpy(seal.snapshot.layer, sandbox->head, sizeof(seal.snapshot.layer));
	memcpy(seal.snapshot.parent, sandbox->at, sizeof(seal.snapshot.parent));
	memcpy(seal.head, sandbox->head, sizeof(seal.head));
	memcpy(seal.at, seal.snapshot.name, sizeof(seal.at));
	seal.snapshot.made_ms = clock_epoch_ms();
	seal.snapshot.is_auto = request->is_auto;
	seal.snapshot.message = request->message ? xstrdup(request->message) : NULL;
	*ret_seal = seal;
	return 0;
}

int snapshot_seal(struct sandbox *sandbox, struct layer_commit *seal, struct error *err)
{
	if (layer_commit_describe_layer(sandbox, &seal->layer, err) < 0)
		return -1;
	memcpy(seal->snapshot.layer, seal->layer.id, sizeof(seal->snapshot.layer));
	if (strcmp(seal->at, seal->snapshot.name) == 0)
		memcpy(seal->head, seal->layer.id, sizeof(seal->head));
	return layer_commit_run(sandbox, seal, err);
}

/* Only another name for where the sandbox stands, or (a copy was made) for LAYER. */
static int name_only(struct sandbox *sandbox, const struct layer_commit *seal, struct error *err)
{
	if (layer_commit_write_snapshot(sandbox, &seal->snapshot, err) < 0)
		return -1;
	memcpy(sandbox->at, seal->at, sizeof(sandbox->at));
	sandbox->last_snap = seal->last_snap;
	sandbox->last_auto = seal->last_auto;
	return sandbox_write_head(sandbox, err);
}

/* The mounted top stays, with all it holds, on the head it has; the copy stands on the same one. */
static int take_live(struct sandbox *sandbox, struct layer_commit *seal, struct error *err)
{
	if (layer_commit_describe_layer(sandbox, &seal->layer, err) < 0 ||
	    copy_top(sandbox, &seal->layer, err) < 0)
		return -1;
	memcpy(seal->snapshot.layer, seal->layer.id, sizeof(seal->snapshot.layer));
	return name_only(sandbox, seal, err);
}

int snapshot_take(struct sandbox *sandbox, const struct snapshot_request *request,
		  struct snapshot *ret_snapshot, struct error *err)
{
	owned(layer_commit_done) struct layer_commit seal = { 0 };
	bool is_dirty;

	if (layer_commit_top_is_dirty(sandbox, &is_dirty, err) < 0 ||
	    snapshot_plan(sandbox, request, &seal, err) < 0)
		return -1;
	if (!is_dirty	       ? name_only(sandbox, &seal, err) < 0
	    : request->is_live ? take_live(sandbox, &seal, err) < 0
			       : snapshot_seal(sandbox, &seal, err) < 0)
		return -1;
	/* Usually that happens behind our back; a chain the kernel would soon refuse cannot wait. */
	if (!request->is_live && seal.layer.depth > DEPTH_LIMIT)
		(void)snapshot_fold(sandbox, DEPTH_LIMIT, err);
	if (request->durable && snapshot_sync(sandbox->store, err) < 0)
		return -1;
	if (!request->durable && is_dirty)
		store_start_worker(sandbox->store);
	*ret_snapshot = seal.snapshot;
	ret_snapshot->is_current = true;
	seal.snapshot.message = NULL;
	return 0;
}
