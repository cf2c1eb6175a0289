/* SPDX-License-Identifier: Apache-2.0 */
/* A chain that grew too long, replaced by one layer that shows the same. */
#include "workspace/store/snapshot.h"

#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/flatten_parts.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/snapshot_parts.h"
#include "workspace/store/store_parts.h"
#include "workspace/store/unsynced.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TWIN_FILE "folded"
#define TWIN_KIND "aisbx-folded 1"

/* The layers of a chain, opened, newest first. */
struct chain_fds {
	int *items;
	size_t count;
};

static void chain_fds_done(struct chain_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		fd_close(&fds->items[i]);
	free(fds->items);
}

static int open_chain(const struct store *store, const struct layer_chain *chain,
		      struct chain_fds *fds, struct error *err)
{
	fds->items = xcalloc(chain->count, sizeof(fds->items[0]));
	for (size_t i = 0; i < chain->count; i++) {
		if (layer_open(store, chain->items[i].id, &fds->items[i], err) < 0)
			return -1;
		fds->count++;
		if (chain->items[i].user_xattr != chain->items[0].user_xattr)
			return error_set(err, ERROR_INPUT,
					 "damaged: layers of different kinds in one chain");
	}
	return 0;
}

/* Notes in the new layer every unit that any of the layers has. */
static int join_units(const struct chain_fds *fds, int draft_fd, struct layer_units *ret_units,
		      struct error *err)
{
	for (size_t i = 0; i < fds->count; i++) {
		owned(layer_units_done) struct layer_units units = { 0 };

		if (layer_units_read(fds->items[i], &units, err) < 0)
			return -1;
		for (size_t k = 0; k < units.count; k++) {
			if (layer_units_add(draft_fd, units.items[k].path, err) < 0)
				return -1;
		}
	}
	return layer_units_read(draft_fd, ret_units, err);
}

static int fold_unit(const struct chain_fds *fds, bool user_xattr, const char *name, int draft_fd)
{
	struct flat_unit unit = { .root_fds = xcalloc(fds->count, sizeof(int)),
				  .user_xattr = user_xattr,
				  .count = fds->count };
	owned(fd_close) int out_fd = -1;
	bool is_there = false;
	int result = 0;

	for (size_t i = 0; i < fds->count; i++) {
		unit.root_fds[i] = openat(fds->items[i], name,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		is_there |= unit.root_fds[i] >= 0;
		if (unit.root_fds[i] < 0 && errno != ENOENT)
			result = -1;
	}
	if (result == 0 && is_there) {
		result = mkdirat(draft_fd, name, 0700);
		if (result == 0)
			out_fd = openat(draft_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		result = out_fd < 0 ? -1 : flatten_unit(&unit, out_fd);
	}
	for (size_t i = 0; i < fds->count; i++)
		fd_close(&unit.root_fds[i]);
	free(unit.root_fds);
	return result;
}

/* The whole lines of TEXT; without the first when that stands in the new file already. */
static void add_lines(const struct str *text, struct str *out)
{
	const char *from = str_cstr(text);
	const char *last = strrchr(from, '\n');

	/* A last line without its end was cut short and does not count. */
	if (!last)
		return;
	if (out->len > 0)
		from = strchr(from, '\n') + 1;
	str_add_bytes(out, from, (size_t)(last + 1 - from));
}

/* What was written down first about a path counts, so the oldest comes first. */
static int join_touched(const struct chain_fds *fds, int draft_fd, struct error *err)
{
	owned(str_done) struct str all = STR_INIT;

	for (size_t i = fds->count; i-- > 0;) {
		owned(str_done) struct str text = STR_INIT;

		if (fields_read_bytes(fds->items[i], "touched", TOUCHED_MAX, &text, err) == 0)
			add_lines(&text, &all);
		else if (err->code != ERROR_NOT_FOUND)
			return -1;
	}
	if (all.len == 0)
		return 0;
	return store_write(draft_fd, "touched", all.data, all.len, err);
}

static int fold_chain(const struct store *store, const struct layer_chain *chain, int draft_fd,
		      struct error *err)
{
	owned(chain_fds_done) struct chain_fds fds = { 0 };
	owned(layer_units_done) struct layer_units units = { 0 };

	if (open_chain(store, chain, &fds, err) < 0 || join_units(&fds, draft_fd, &units, err) < 0)
		return -1;
	for (size_t i = 0; i < units.count; i++) {
		if (fold_unit(&fds, chain->items[0].user_xattr, units.items[i].name, draft_fd) < 0)
			return error_errno(err, ERROR_HOST, "cannot fold '%s'",
					   units.items[i].path);
	}
	return join_touched(&fds, draft_fd, err);
}

static int describe(const struct layer_chain *chain, struct layer_meta *ret_meta, struct error *err)
{
	const struct layer_meta *top = &chain->items[0];
	struct layer_meta meta = { .sealed_ms = clock_epoch_ms(),
				   .depth = 1,
				   .user_xattr = top->user_xattr };

	if (id_run(meta.id, err) < 0 || store_boot_id(meta.boot_id, err) < 0)
		return -1;
	memcpy(meta.same_as, top->id, sizeof(meta.same_as));
	memcpy(meta.sandbox, top->sandbox, sizeof(meta.sandbox));
	for (size_t i = 0; i < chain->count; i++)
		meta.is_on_torn |= layer_is_torn(&chain->items[i], meta.boot_id);
	*ret_meta = meta;
	return 0;
}

/* Makes layer META out of the chain; it appears whole or not at all. */
static int make_layer(const struct store *store, const struct layer_chain *chain,
		      const struct layer_meta *meta, struct error *err)
{
	char draft[LAYER_PATH_SIZE], place[LAYER_PATH_SIZE];
	struct error ignored = { .code = ERROR_NONE };
	owned(fd_close) int draft_fd = -1;

	(void)snprintf(draft, sizeof(draft), "layers/.new-%s", meta->id);
	(void)snprintf(place, sizeof(place), "layers/%s", meta->id);
	if (mkdirat(store->fd, draft, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a layer");
	draft_fd = openat(store->fd, draft, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (draft_fd < 0)
		error_errno(err, ERROR_HOST, "cannot open a layer");
	else if (fold_chain(store, chain, draft_fd, err) == 0) {
		if (renameat(store->fd, draft, store->fd, place) == 0)
			return layer_commit_write_layer(store, meta, err);
		error_errno(err, ERROR_HOST, "cannot name a layer");
	}
	(void)store_trash(store, store->fd, draft, &ignored);
	return -1;
}

/* A layer that shows what LID and all below it show. */
static int fold_layer(const struct store *store, const char *lid, struct layer_meta *ret_meta,
		      struct error *err)
{
	owned(layer_chain_done) struct layer_chain chain = { 0 };

	if (layer_chain_read(store, lid, &chain, err) < 0 || describe(&chain, ret_meta, err) < 0)
		return -1;
	return make_layer(store, &chain, ret_meta, err);
}

int snapshot_fold(struct sandbox *sandbox, uint64_t depth_max, struct error *err)
{
	const struct store *store = sandbox->store;
	struct layer_meta meta;

	if (!sandbox->head[0])
		return 0;
	if (layer_meta_read(store, sandbox->head, &meta, err) < 0)
		return -1;
	if (meta.depth <= depth_max)
		return 0;
	if (fold_layer(store, sandbox->head, &meta, err) < 0)
		return error_context(err, "folding the layers of '%s'", sandbox->name);
	memcpy(sandbox->head, meta.id, sizeof(sandbox->head));
	if (sandbox_write_head(sandbox, err) < 0)
		return -1;
	store_start_worker(store);
	return 1;
}

bool flatten_find_twin(const struct store *store, const char *lid, struct layer_meta *ret_twin)
{
	owned(fields_done) struct fields fields = { 0 };
	struct error err = { .code = ERROR_NONE };
	char place[LAYER_PATH_SIZE];

	(void)snprintf(place, sizeof(place), "layers/%s/" TWIN_FILE, lid);
	return fields_read(store->fd, place, TWIN_KIND, &fields, &err) == 0 &&
	       layer_meta_read(store, fields_get(&fields, "layer"), ret_twin, &err) == 0 &&
	       strcmp(ret_twin->same_as, lid) == 0;
}

static int make_twin(const struct store *store, const char *lid, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char place[LAYER_PATH_SIZE];
	struct layer_meta meta;

	if (fold_layer(store, lid, &meta, err) < 0)
		return -1;
	fields_begin(&text, TWIN_KIND);
	fields_put(&text, "layer", meta.id);
	fields_end(&text);
	(void)snprintf(place, sizeof(place), "layers/%s/" TWIN_FILE, lid);
	return store_write(store->fd, place, text.data, text.len, err);
}

void flatten_new(const struct store *store)
{
	owned(strv_done) struct strv ids = STRV_INIT;
	struct error err = { .code = ERROR_NONE };
	struct store held = { .fd = store->fd, .lock_fd = -1 };
	struct layer_meta meta, twin;

	/* Until it is noted beside the other, a twin would pass for garbage. */
	if (store_relock(&held, &err) < 0)
		return;
	/* List only now: seals went on while this process waited for the lock. */
	(void)unsynced_list(store, &ids, &err);
	for (size_t i = 0; i < ids.count; i++) {
		if (layer_meta_read(store, ids.items[i], &meta, &err) == 0 &&
		    meta.depth > LAYER_DEPTH_MAX && !flatten_find_twin(store, meta.id, &twin))
			(void)make_twin(store, meta.id, &err);
	}
	store_unlock(&held);
}
