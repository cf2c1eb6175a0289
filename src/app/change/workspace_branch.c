/* SPDX-License-Identifier: Apache-2.0 */
/* Two snapshots of which neither comes from the other, compared through the point where their ways part. */
#include "app/change/workspace_branch.h"

#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK (64u << 10)

void branch_done(struct branch *branch)
{
	for (size_t i = 0; i < 2; i++)
		delta_done(&branch->parts[i]);
	/* Its texts belong to the parts; its descriptors to the ends. */
	free(branch->delta.items);
	strv_done(&branch->delta.closed);
	free(branch->stack.layer_fds);
	free(branch->stack.user_xattr);
	memset(branch, 0, sizeof(*branch));
}

static void add_layers(struct view_stack *stack, const struct view_stack *from, size_t first,
		       size_t end)
{
	for (size_t i = first; i < end; i++) {
		stack->layer_fds[stack->count] = from->layer_fds[i];
		stack->user_xattr[stack->count] = from->user_xattr[i];
		stack->count++;
	}
}

static void join_stacks(const struct branch_end *old, const struct branch_end *new,
			struct view_stack *stack)
{
	size_t room = old->stack->count + new->own + 1;

	stack->layer_fds = xcalloc(room, sizeof(*stack->layer_fds));
	stack->user_xattr = xcalloc(room, sizeof(*stack->user_xattr));
	stack->shows = new->stack->shows;
	stack->cookie = new->stack->cookie;
	add_layers(stack, old->stack, 0, old->own);
	add_layers(stack, new->stack, 0, new->own);
	add_layers(stack, old->stack, old->own, old->stack->count);
}

/* From a layer's number in its end's stack to the one in the joined stack. */
static void renumber(struct delta_side *side, size_t own, size_t before, size_t both)
{
	side->layer = side->layer < own ? side->layer + before : side->layer - own + both;
}

static int read_part(const struct branch_end *end, const char *workspace, size_t before,
		     size_t both, struct delta *ret_part, struct error *err)
{
	struct delta_options options = { .workspace = workspace,
					 .old_from = end->own,
					 .expand = true };

	if (end->own == 0)
		return 0;
	if (delta_read(end->stack, &options, ret_part, err) < 0)
		return -1;
	for (size_t i = 0; i < ret_part->count; i++) {
		renumber(&ret_part->items[i].old, end->own, before, both);
		renumber(&ret_part->items[i].new, end->own, before, both);
	}
	return 0;
}

/* Whether both hold the same bytes to the end; what cannot be read is not the same. */
static bool same_bytes(int left, int right)
{
	owned(free_ptr) char *a = xmalloc(BLOCK);
	owned(free_ptr) char *b = xmalloc(BLOCK);

	for (off_t at = 0;; at += BLOCK) {
		ssize_t got = pread(left, a, BLOCK, at);

		if (got < 0 || pread(right, b, BLOCK, at) != got || memcmp(a, b, (size_t)got) != 0)
			return false;
		if (got < (ssize_t)BLOCK)
			return true;
	}
}

static bool same_content(const struct view_stack *stack, const struct delta_side *a,
			 const struct delta_side *b)
{
	if (S_ISLNK(a->st.st_mode))
		return a->link && b->link && strcmp(a->link, b->link) == 0;
	if (!S_ISREG(a->st.st_mode))
		return a->st.st_rdev == b->st.st_rdev;
	if (a->st.st_size != b->st.st_size)
		return false;
	owned(fd_close) int left = delta_open_side(stack, a);
	owned(fd_close) int right = delta_open_side(stack, b);

	return left >= 0 && right >= 0 && same_bytes(left, right);
}

static bool same_xattrs(const struct view_stack *stack, const struct delta_side *a,
			const struct delta_side *b)
{
	struct xattr_list left = { .count = 0 }, right = { .count = 0 };
	struct error ignored;
	bool same = delta_xattrs(stack, a, &left, &ignored) == 0 &&
		    delta_xattrs(stack, b, &right, &ignored) == 0 && left.count == right.count;

	for (size_t i = 0; same && i < left.count; i++) {
		const struct xattr_item *one = &left.items[i], *other = &right.items[i];

		same = strcmp(one->name, other->name) == 0 && one->len == other->len &&
		       memcmp(one->value, other->value, one->len) == 0;
	}
	xattr_list_done(&left);
	xattr_list_done(&right);
	return same;
}

/* Op and aspects of an entry from its two sides; false when they are the same. */
static bool judge(const struct view_stack *stack, struct delta_entry *entry)
{
	const struct delta_side *old = &entry->old, *new = &entry->new;

	entry->aspects = 0;
	if (!old->exists || !new->exists) {
		entry->op = new->exists ? DELTA_ADDED : DELTA_DELETED;
		entry->aspects = ASPECT_CONTENT;
		return old->exists != new->exists;
	}
	if ((old->st.st_mode & S_IFMT) != (new->st.st_mode &S_IFMT)) {
		entry->op = DELTA_TYPE;
		entry->aspects = ASPECT_TYPE;
		return true;
	}
	entry->op = DELTA_MODIFIED;
	entry->aspects |= same_content(stack, old, new) ? 0 : ASPECT_CONTENT;
	entry->aspects |= old->st.st_mode != new->st.st_mode ? ASPECT_MODE : 0;
	entry->aspects |= old->st.st_uid != new->st.st_uid || old->st.st_gid != new->st.st_gid
				  ? ASPECT_OWNER
				  : 0;
	entry->aspects |= same_xattrs(stack, old, new) ? 0 : ASPECT_XATTR;
	return entry->aspects != 0;
}

/* A change on the old end's way alone, the other way round. */
static void turn_round(struct delta_entry *entry)
{
	struct delta_side side = entry->old;

	entry->old = entry->new;
	entry->new = side;
	entry->flags &= FLAG_TRIGGER | FLAG_OUTSIDE;
	if (entry->op == DELTA_ADDED)
		entry->op = DELTA_DELETED;
	else if (entry->op == DELTA_DELETED)
		entry->op = DELTA_ADDED;
}

/* Both parts are sorted by path: merged as two sorted lists are. */
static void join_parts(struct branch *branch)
{
	const struct delta *old = &branch->parts[0], *new = &branch->parts[1];
	struct delta *out = &branch->delta;
	size_t o = 0, n = 0;

	out->items = xcalloc(old->count + new->count + 1, sizeof(*out->items));
	out->is_partial = old->is_partial || new->is_partial;
	out->is_cut = old->is_cut || new->is_cut;
	strv_copy(&out->closed, &old->closed);
	for (size_t i = 0; i < new->closed.count; i++)
		if (!strv_has(&out->closed, new->closed.items[i]))
			strv_add(&out->closed, new->closed.items[i]);
	while (o < old->count || n < new->count) {
		struct delta_entry *entry = &out->items[out->count];
		int order = o == old->count   ? 1
			    : n == new->count ? -1
					      : strcmp(old->items[o].path, new->items[n].path);

		if (order > 0) {
			*entry = new->items[n++];
		} else if (order < 0) {
			*entry = old->items[o++];
			turn_round(entry);
		} else {
			*entry = new->items[n++];
			entry->old = old->items[o++].new;
		}
		if (order != 0 || judge(&branch->stack, entry))
			out->count++;
	}
}

int branch_read(const struct branch_end *old, const struct branch_end *new, const char *workspace,
		struct branch *ret_branch, struct error *err)
{
	size_t both = old->own + new->own;

	memset(ret_branch, 0, sizeof(*ret_branch));
	join_stacks(old, new, &ret_branch->stack);
	if (read_part(old, workspace, 0, both, &ret_branch->parts[0], err) < 0 ||
	    read_part(new, workspace, old->own, both, &ret_branch->parts[1], err) < 0) {
		branch_done(ret_branch);
		return -1;
	}
	join_parts(ret_branch);
	return 0;
}
