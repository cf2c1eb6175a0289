/*
 * The base of a path nothing was written down about, from what the kernel left: the birth of the layer's inode, which is
 * when it was copied up, and the mark it then got of where it came from.
 */
#include "workspace/origin_index.h"

#include "base/own.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

bool origin_is_copied_up(const struct view_stack *stack, const struct delta_side *side)
{
	owned(fd_close) int fd = -1;

	if (!side->exists || side->layer >= stack->count || !S_ISREG(side->st.st_mode))
		return false;
	fd = delta_open_side(stack, side);
	/* Unreadable: nobody can say, and that must not look like a new file. */
	if (fd < 0)
		return true;
	return fgetxattr(fd,
			 stack->user_xattr[side->layer] ? "user.overlay.origin"
							: "trusted.overlay.origin",
			 NULL, 0) >= 0;
}

static uint64_t birth_of(const struct view_object *object)
{
	struct statx stx;

	if (statx(object->dir_fd, object->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BTIME,
		  &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)stx.stx_btime.tv_sec * 1000000000u + stx.stx_btime.tv_nsec;
}

/* When the sandbox first took PATH: the birth of its object in the oldest layer that has one; 0 when unknown. */
static uint64_t first_taken(const struct view_stack *stack, const struct delta_entry *entry)
{
	uint64_t birth = entry->new.exists ? entry->new.btime_ns : 0;
	size_t from = entry->new.exists ? entry->new.layer + 1 : stack->count;

	while (from < stack->count) {
		struct view_object object = { .dir_fd = -1 };
		struct error ignored = { 0 };

		if (view_lookup(stack, from, entry->path, &object, &ignored) < 0)
			return 0;
		bool is_older = object.kind == VIEW_LAYER;

		if (is_older)
			birth = birth_of(&object);
		from = is_older ? object.layer + 1 : stack->count;
		/* Removed below and made anew above: the birth of the new one tells nothing. */
		if (object.kind == VIEW_ABSENT)
			birth = 0;
		view_object_done(&object);
	}
	return birth;
}

/* Whether layers below the top say nothing of PATH. */
static bool is_only_in_top(const struct view_stack *stack, const char *path)
{
	struct view_object object = { .dir_fd = -1 };
	struct error ignored = { 0 };

	if (stack->count <= 1)
		return true;
	if (view_lookup(stack, 1, path, &object, &ignored) < 0)
		return false;
	bool is_base = object.kind == VIEW_BASE;

	view_object_done(&object);
	return is_base;
}

/*
 * A time before the sandbox did anything to PATH, or 0. What the top did, it did after it was last captured, since
 * nothing is written down about it; and after the base was taken, as does every layer unless a refresh moved that.
 */
static uint64_t not_yet_taken(const struct origin_index *index, const char *path)
{
	const struct sandbox *sandbox = index->sandbox;

	if (is_only_in_top(index->stack, path))
		return index->top_at_ns > sandbox->base_ns ? index->top_at_ns : sandbox->base_ns;
	return sandbox->base_ns / 1000000 <= sandbox->created_ms + 1 ? sandbox->base_ns : 0;
}

void origin_work_out(const struct origin_index *index, const struct delta_entry *entry,
		     const struct txn_identity *now, struct origin *ret_origin)
{
	*ret_origin = (struct origin){ .quality = ORIGIN_LOST };
	if (!now->exists) {
		/* Copied up, and reality has it no more: it was there, that is all there is to know. */
		ret_origin->identity.exists = origin_is_copied_up(index->stack, &entry->new);
		if (!ret_origin->identity.exists)
			ret_origin->quality = ORIGIN_EXACT;
		return;
	}
	if (!origin_index_is_before(index, now->ctime_ns, first_taken(index->stack, entry)) &&
	    !origin_index_is_before(index, now->ctime_ns, not_yet_taken(index, entry->path)))
		return;
	ret_origin->quality = ORIGIN_EXACT;
	ret_origin->identity = *now;
}
