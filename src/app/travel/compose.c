/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes on top of one another: a push holds all that its line of pushes changed, from the bases of the first on. */
#include "app/travel/travel_parts.h"

#include "base/core/own.h"
#include "workspace/store/cas.h"

#include <string.h>

/* The sandbox now, and as it was when it last exchanged with the remote. */
struct moments {
	const struct sandbox *sandbox;
	const struct view_stack *now, *then;
};

/* Whether the sandbox itself had PATH then: that it shows nothing there now is its own deletion, not the host's. */
static int is_removed(const struct moments *at, const char *path, struct error *err)
{
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };

	return view_lookup(at->then, 0, path, &object, err) < 0 ? -1 : object.kind == VIEW_LAYER;
}

/*
 * A path that was pushed and is no change against the host any more. Where a layer has it, as after a promotion, the sandbox
 * shows its own: that counts. Where only the host has it, or nothing, what was pushed stays.
 */
static int take_shown(const struct moments *at, const struct bundle_change *pushed,
		      struct bundle_side *ret_new, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", at->sandbox->workspace, pushed->path);
	owned(fd_close) int fd = -1;
	enum view_kind kind;
	int removed = 0;

	if (fill_look(at->now, path, &kind, ret_new, &fd, err) < 0)
		return -1;
	if (kind == VIEW_ABSENT && pushed->new.type)
		removed = is_removed(at, path, err);
	if (removed < 0)
		return -1;
	if ((kind != VIEW_LAYER && !removed) || ret_new->type == '?') {
		bundle_side_done(ret_new);
		travel_copy_side(ret_new, &pushed->new);
		return 0;
	}
	return fd < 0 ? 0 : cas_keep_fd(at->sandbox->store, fd, ret_new->sha256, err);
}

static int add(struct bundle *out, const char *path, const struct bundle_side *old,
	       struct bundle_change **ret_change, struct error *err)
{
	if (bundle_add(out, path, ret_change, err) < 0)
		return -1;
	travel_copy_side(&(*ret_change)->old, old);
	return 0;
}

static int compose(const struct moments *at, struct bundle *own, const struct bundle *pushed,
		   struct error *err)
{
	struct bundle out;
	size_t o = 0, p = 0;
	int status = 0;

	bundle_init(&out);
	while (status == 0 && (o < own->count || p < pushed->count)) {
		const struct bundle_change *mine = &own->items[o], *before = &pushed->items[p];
		int order = o == own->count	 ? 1
			    : p == pushed->count ? -1
						 : strcmp(mine->path, before->path);
		struct bundle_change *change = NULL;

		status = order < 0 ? add(&out, mine->path, &mine->old, &change, err)
				   : add(&out, before->path, &before->old, &change, err);
		if (status == 0 && order <= 0)
			travel_copy_side(&change->new, &mine->new);
		else if (status == 0)
			status = take_shown(at, before, &change->new, err);
		if (status == 0 && order >= 0 && bundle_sides_equal(&change->new, &before->new))
			change->new.mtime_s = before->new.mtime_s;
		o += order <= 0;
		p += order >= 0;
	}
	bundle_done(own);
	*own = out;
	return status;
}

int travel_compose(const struct sandbox *sandbox, const struct view_stack *stack,
		   const char *snapshot, const struct bundle *pushed, struct bundle *own,
		   struct error *err)
{
	struct view_stack then;
	const struct moments at = { .sandbox = sandbox, .now = stack, .then = &then };
	int status;

	if (app_view(sandbox, snapshot, &then, err) < 0)
		return -1;
	status = compose(&at, own, pushed, err);
	view_close(&then);
	return status;
}

int travel_since(struct bundle *bundle, const struct bundle *earlier, struct error *err)
{
	struct bundle out;
	int status = 0;

	bundle_init(&out);
	for (size_t i = 0; i < bundle->count && status == 0; i++) {
		const struct bundle_change *now = &bundle->items[i];
		const struct bundle_change *then = earlier ? travel_find(earlier, now->path) : NULL;
		const struct bundle_side *old = then ? &then->new : &now->old;
		struct bundle_change *change = NULL;

		if (bundle_sides_equal(old, &now->new))
			continue;
		status = add(&out, now->path, old, &change, err);
		if (status == 0)
			travel_copy_side(&change->new, &now->new);
	}
	bundle_done(bundle);
	*bundle = out;
	return status;
}
