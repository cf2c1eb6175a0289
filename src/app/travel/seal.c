/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot changed, as a bundle whose bases are those the changes were made from, whatever the host is by now. */
#include "app/travel/travel_parts.h"

#include "app/change/workspace_parts.h"
#include "app/sandbox/sandbox_parts.h"
#include "base/core/own.h"
#include "base/text/clean_path.h"
#include "workspace/base/origin.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/target.h"
#include "workspace/store/cas.h"

#include <stdlib.h>
#include <string.h>

/* The digest of no content: a base that is not known is never what another machine has. */
#define LOST "0000000000000000000000000000000000000000000000000000000000000000"

int travel_walls_read(const struct sandbox *sandbox, struct travel_walls *ret_walls,
		      struct error *err)
{
	struct spec spec = { 0 };
	int status = sandbox_plan_masks(sandbox, &spec, err);

	for (size_t i = 0; status == 0 && i < spec.bind_count; i++)
		strv_add(&ret_walls->paths, spec.binds[i].target);
	spec_done(&spec);
	return status < 0 ? -1 : app_own_folders(&ret_walls->paths, err);
}

const char *travel_walls_find(const struct travel_walls *walls, const char *path)
{
	for (size_t i = 0; i < walls->paths.count; i++)
		if (path_is_within(path, walls->paths.items[i]))
			return walls->paths.items[i];
	return NULL;
}

void travel_walls_done(struct travel_walls *walls)
{
	strv_done(&walls->paths);
}

void travel_copy_side(struct bundle_side *to, const struct bundle_side *from)
{
	*to = *from;
	to->link = from->link ? xstrdup(from->link) : NULL;
}

bool travel_same_side(const struct bundle_side *a, const struct bundle_side *b)
{
	return a->type == b->type && a->mode == b->mode && strcmp(a->sha256, b->sha256) == 0 &&
	       str_same(a->link ? a->link : "", b->link ? b->link : "");
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct bundle_change *)a)->path,
		      ((const struct bundle_change *)b)->path);
}

void travel_sort(struct bundle *bundle)
{
	if (bundle->count > 1)
		qsort(bundle->items, bundle->count, sizeof(bundle->items[0]), compare);
}

const struct bundle_change *travel_find(const struct bundle *bundle, const char *path)
{
	struct bundle_change key = { .path = (char *)(uintptr_t)path };

	return bundle->count ? bsearch(&key, bundle->items, bundle->count, sizeof(bundle->items[0]),
				       compare)
			     : NULL;
}

static void bundle_drop_last(struct bundle *bundle)
{
	struct bundle_change *last = &bundle->items[--bundle->count];

	free(last->path);
	bundle_side_done(&last->old);
	bundle_side_done(&last->new);
}

struct sealing {
	const struct sandbox *sandbox;
	const struct view_stack *stack;
	struct origin_index *origins;
	struct travel_walls walls;
	struct bundle *bundle;
	struct strv *left_out;
};

static void sealing_done(struct sealing *seal)
{
	if (seal->origins)
		origin_index_close(seal->origins);
	travel_walls_done(&seal->walls);
}

/* Its content is read for the digest; whether it travels is decided when it is sent. */
static int put_base_content(const struct sealing *seal, const struct delta_entry *entry,
			    const struct origin *origin, struct bundle_side *side,
			    struct error *err)
{
	owned(fd_close) int fd = -1;

	if (origin_open(seal->origins, entry, origin, &fd, err) < 0) {
		if (err->code != ERROR_NOT_FOUND && err->code != ERROR_CONFLICT)
			return -1;
		memcpy(side->sha256, LOST, SHA256_HEX_SIZE);
		return 0;
	}
	/* A deletion takes no copy of what the host has. */
	if (!entry->new.exists)
		return digest_fd(fd, side->sha256) == 0
			       ? 0
			       : error_errno(err, ERROR_HOST, "%s", entry->path);
	return cas_keep_fd(seal->sandbox->store, fd, side->sha256, err);
}

/* Directories hold nothing that could be lost; and where the host has nothing, nothing is written over. */
static void put_lost(const struct delta_entry *entry, struct bundle_side *side)
{
	if (!entry->old.exists)
		return;
	side->mode = entry->old.st.st_mode & 07777;
	side->type = S_ISDIR(entry->old.st.st_mode) ? 'd' : 'f';
	if (side->type == 'f')
		memcpy(side->sha256, LOST, SHA256_HEX_SIZE);
}

static void put_unknown(struct bundle_side *side)
{
	side->type = 'f';
	memcpy(side->sha256, LOST, SHA256_HEX_SIZE);
}

static int put_base(const struct sealing *seal, const struct delta_entry *entry,
		    struct bundle_side *side, struct error *err)
{
	owned(origin_done) struct origin origin = { 0 };

	if (origin_find(seal->origins, entry, &origin, err) < 0)
		return -1;
	if (origin.quality == ORIGIN_LOST || origin.quality == ORIGIN_APPROX) {
		put_lost(entry, side);
		return 0;
	}
	side->type = target_type(&origin.identity);
	if (!side->type)
		return 0;
	/* What is hidden from the sandbox is not read for it: the host's version stays here, whole. */
	if (seal->stack->shows && !seal->stack->shows(entry->path, seal->stack->cookie)) {
		put_unknown(side);
		return 0;
	}
	if (side->type == 'l') {
		side->link = xstrdup(origin.link ? origin.link : "");
		return 0;
	}
	side->mode = origin.identity.mode & 07777;
	if (side->type == 'f')
		return put_base_content(seal, entry, &origin, side, err);
	/* A fifo or a device that is gone or became something else: no other machine's is the same. */
	if (side->type != 'd')
		put_unknown(side);
	return 0;
}

static int put_new(const struct sealing *seal, const struct delta_entry *entry,
		   struct bundle_side *side, struct error *err)
{
	const struct stat *st = &entry->new.st;
	owned(fd_close) int fd = -1;

	if (!entry->new.exists)
		return 0;
	side->type = S_ISREG(st->st_mode) ? 'f' : S_ISDIR(st->st_mode) ? 'd' : 'l';
	if (side->type == 'l') {
		side->link = xstrdup(entry->new.link ? entry->new.link : "");
		return 0;
	}
	side->mode = st->st_mode & 07777;
	if (side->type == 'd')
		return 0;
	side->mtime_s = st->st_mtim.tv_sec > 0 ? (uint64_t)st->st_mtim.tv_sec : 0;
	fd = delta_open_side(seal->stack, &entry->new);
	return fd < 0 ? error_errno(err, ERROR_HOST, "cannot read it")
		      : cas_keep_fd(seal->sandbox->store, fd, side->sha256, err);
}

/* Mounts and our own folders stay where they are; so do fifos, sockets and devices. */
static bool stays(const struct sealing *seal, const struct delta_entry *entry)
{
	mode_t mode = entry->new.st.st_mode;
	bool is_special = entry->new.exists && !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);

	return is_special || travel_walls_find(&seal->walls, entry->path);
}

static int add_entry(struct sealing *seal, const struct delta_entry *entry, struct error *err)
{
	const char *path = target_relative(seal->sandbox->workspace, entry->path);
	struct bundle_change *change = NULL;
	char shown[STR_SHOWN_SIZE];

	if (!path || !*path)
		return 0;
	if (stays(seal, entry)) {
		strv_add(seal->left_out, path);
		return 0;
	}
	if (bundle_add(seal->bundle, path, &change, err) < 0)
		return -1;
	if (put_base(seal, entry, &change->old, err) < 0 ||
	    put_new(seal, entry, &change->new, err) < 0)
		return error_context(err, "%s", str_shown(path, shown));
	/* The host changed, and the sandbox did not. */
	if (travel_same_side(&change->old, &change->new))
		bundle_drop_last(seal->bundle);
	return 0;
}

static int add_entries(struct sealing *seal, const struct delta *delta, struct error *err)
{
	for (size_t i = 0; i < delta->count; i++)
		if (add_entry(seal, &delta->items[i], err) < 0)
			return -1;
	return 0;
}

int travel_seal(const struct sandbox *sandbox, const struct view_stack *stack,
		struct bundle *ret_bundle, struct strv *ret_left_out, struct error *err)
{
	owned(sealing_done) struct sealing seal = {
		.sandbox = sandbox, .stack = stack, .bundle = ret_bundle, .left_out = ret_left_out
	};
	const struct delta_options options = { .workspace = sandbox->workspace,
					       .sandbox = sandbox,
					       .old_from = stack->count,
					       .only_workspace = true,
					       .expand = true };
	struct delta delta = { .count = 0 };
	int status = delta_read(stack, &options, &delta, err);

	if (status == 0 && delta.is_partial)
		status = error_set(err, ERROR_DENIED, "%s changed too much to be pushed",
				   sandbox->name);
	if (status == 0)
		status = origin_index_open(sandbox, stack, &seal.origins, err);
	if (status == 0)
		status = travel_walls_read(sandbox, &seal.walls, err);
	if (status == 0)
		status = add_entries(&seal, &delta, err);
	delta_done(&delta);
	travel_sort(ret_bundle);
	return status;
}
