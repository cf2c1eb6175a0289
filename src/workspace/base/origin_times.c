/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base of a path that nothing is recorded of. It is what the host has now only where that can be proved: by the mark
 * that the kernel leaves on a copied file, which names the inode that it copied, with the time of the copy; or because
 * nothing has changed since a moment at which the sandbox did not know the name yet. No mark, or an empty one (plain
 * users, files with several names), proves nothing; equal stamps count as a change.
 */
#include "workspace/base/origin_index.h"

#include "base/core/own.h"
#include "workspace/disk/handle.h"
#include "workspace/disk/overlay.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The directory of a layer that shows at ENTRY's path; -1 with errno. */
static int open_directory(const struct view_stack *stack, const struct delta_entry *entry)
{
	struct view_object object = { .dir_fd = -1 };
	struct error ignored = { 0 };
	int fd = -1;

	if (view_lookup(stack, entry->new.layer, entry->path, &object, &ignored) < 0)
		return -1;
	if (object.kind == VIEW_LAYER)
		fd = openat(object.dir_fd, object.name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	view_object_done(&object);
	return fd;
}

bool origin_is_copied_up(const struct view_stack *stack, const struct delta_entry *entry,
			 uint64_t *ret_ino)
{
	const struct delta_side *side = &entry->new;
	owned(fd_close) int fd = -1;
	struct handle note;

	*ret_ino = 0;
	if (!side->exists || side->layer >= stack->count ||
	    (!S_ISREG(side->st.st_mode) && !S_ISDIR(side->st.st_mode)))
		return false;
	bool is_user = stack->user_xattr[side->layer];

	fd = S_ISREG(side->st.st_mode) ? delta_open_side(stack, side)
				       : open_directory(stack, entry);
	/* Unreadable: unknown, which must not pass for something new. */
	if (fd < 0)
		return true;
	/* A renamed directory is new where it is. */
	if (S_ISDIR(side->st.st_mode) && overlay_mark(fd, is_user, "redirect", NULL, 0) >= 0)
		return false;
	*ret_ino = handle_read_note(fd, is_user, &note) ? handle_inode(&note) : 0;
	return *ret_ino != 0 || overlay_mark(fd, is_user, "origin", NULL, 0) >= 0;
}

/* The sandbox's object in the oldest layer that has the path: its birth and its mark show what it was copied from. */
struct first_copy {
	uint64_t birth_ns; /* 0: unknown */
	struct handle mark;
	bool has_mark; /* the kernel's, whole */
};

static uint64_t birth_of(const struct view_object *object)
{
	struct statx stx;

	if (statx(object->dir_fd, object->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BTIME,
		  &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)stx.stx_btime.tv_sec * 1000000000u + stx.stx_btime.tv_nsec;
}

static void read_first_copy(const struct view_stack *stack, const struct view_object *object,
			    struct first_copy *ret_copy)
{
	owned(fd_close) int fd = -1;

	*ret_copy = (struct first_copy){ .birth_ns = birth_of(object) };
	if (!S_ISREG(object->st.st_mode) && !S_ISDIR(object->st.st_mode))
		return;
	fd = openat(object->dir_fd, object->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ret_copy->has_mark =
		handle_read_note(fd, stack->user_xattr[object->layer], &ret_copy->mark);
}

static void find_first_copy(const struct view_stack *stack, const struct delta_entry *entry,
			    struct first_copy *ret_copy)
{
	*ret_copy = (struct first_copy){ 0 };
	for (size_t from = entry->new.exists ? entry->new.layer : stack->count;
	     from < stack->count;) {
		struct view_object object = { .dir_fd = -1 };
		struct error ignored = { 0 };

		if (view_lookup(stack, from, entry->path, &object, &ignored) < 0) {
			*ret_copy = (struct first_copy){ 0 };
			return;
		}
		from = object.kind == VIEW_LAYER ? object.layer + 1 : stack->count;
		if (object.kind == VIEW_LAYER)
			read_first_copy(stack, &object, ret_copy);
		/* Removed below and made anew above: the new object does not show what was removed. */
		if (object.kind == VIEW_ABSENT)
			*ret_copy = (struct first_copy){ 0 };
		view_object_done(&object);
	}
}

/*
 * Whether the host has the very inode at the base's path that was copied up; *RET_BIRTH_NS is of the copy. When the host
 * renamed it there, the copy may be older than that name.
 */
static bool is_marked(const struct origin_index *index, const struct delta_entry *entry,
		      uint64_t *ret_birth_ns)
{
	const char *relative =
		target_relative(index->sandbox->workspace, origin_base_path(index->stack, entry));
	owned(fd_close) int dir_fd = -1;
	struct first_copy copy;
	struct handle there;
	const char *name;

	find_first_copy(index->stack, entry, &copy);
	*ret_birth_ns = copy.birth_ns;
	return copy.has_mark && relative &&
	       target_parent(index->workspace_fd, relative, &dir_fd, &name) == 0 &&
	       handle_read(dir_fd, name, &there) && handle_is_near(&there, &copy.mark) &&
	       handle_compare(&there, &copy.mark) == 0;
}

/*
 * Whether no layer below the top has ENTRY. Below a directory that was renamed in the top, it is looked up under its
 * former path.
 */
static bool is_only_in_top(const struct view_stack *stack, const struct delta_entry *entry)
{
	bool is_carried = entry->new.exists && entry->new.layer == 0 &&
			  origin_is_in_moved(stack, &entry->new);
	const char *path = is_carried ? origin_base_path(stack, entry) : entry->path;
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
 * Whether all that hides the base of a deleted ENTRY came after THEN_NS. A whiteout may be older than the deletion, since
 * the kernel gives one many names, but never younger.
 */
static bool is_deleted_after(const struct view_stack *stack, const struct delta_entry *entry,
			     uint64_t then_ns)
{
	const struct delta_side *old = &entry->old;
	const struct layer_unit *unit = NULL;

	for (size_t i = 0; stack->units && old->exists && i < stack->units->count && !unit; i++)
		if (strcmp(stack->units->items[i].name, old->unit) == 0)
			unit = &stack->units->items[i];
	const char *below = unit ? target_relative(unit->path, entry->path) : NULL;

	for (size_t i = 0; below && i < stack->count; i++) {
		uint64_t birth_ns;
		int cover = origin_find_cover(stack, i, unit->name, below, &birth_ns);

		if (cover < 0 || (cover && birth_ns <= then_ns))
			return false;
	}
	return below;
}

/*
 * A moment before the sandbox knew of PATH, or 0: nothing is recorded of it, so all that was done to it came after what
 * is recorded of the top; and after the base was taken, as does a layer unless a refresh moved that. Between that
 * moment and now a name may have been looked up at any time, and been kept while the host changed what it stood for.
 */
static uint64_t last_unknown(const struct origin_index *index, const struct delta_entry *entry)
{
	const struct sandbox *sandbox = index->sandbox;
	struct first_copy copy;

	if (is_only_in_top(index->stack, entry))
		return index->fresh_ns > sandbox->base_ns ? index->fresh_ns : sandbox->base_ns;
	/* A fork is younger than its base also where that was taken after the layers were written. */
	if (!entry->new.exists)
		return is_deleted_after(index->stack, entry, sandbox->base_ns) ? sandbox->base_ns
									       : 0;
	find_first_copy(index->stack, entry, &copy);
	return copy.birth_ns > sandbox->base_ns ? sandbox->base_ns : 0;
}

static uint64_t changed_ns(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 || st.st_ctim.tv_sec < 0)
		return UINT64_MAX;
	return (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
}

/*
 * Whether the host's directory PATH is the one that a promotion of the sandbox left there, which renamed it as the sandbox had. What
 * is in it may have changed since; that is asked of each of its entries.
 */
static bool is_promoted(const struct origin_index *index, const char *path)
{
	const struct origin_record *record = origin_records_find(&index->promoted, path, true);
	const struct txn_identity *promoted = record ? &record->origin.identity : NULL;
	struct txn_identity now;

	return promoted && promoted->exists && origin_index_look(index, path, &now) == 0 &&
	       now.exists && now.ino == promoted->ino && now.btime_ns == promoted->btime_ns;
}

static void push_level(const struct origin_index *index, struct origin_directory *directory,
		       size_t len)
{
	owned(free_ptr) char *path = xstrndup(directory->path, len);
	const struct origin_level *above =
		directory->count > 0 ? &directory->levels[directory->count - 1] : NULL;
	struct origin_level level = { .len = len, .changed_ns = changed_ns(path) };

	if (above) {
		uint64_t both_ns =
			level.changed_ns < above->changed_ns ? level.changed_ns : above->changed_ns;

		if (is_promoted(index, path))
			both_ns = 0;
		level.since_ns = both_ns > above->since_ns ? both_ns : above->since_ns;
	}
	directory->levels =
		xrealloc(directory->levels, directory->count + 1, sizeof(*directory->levels));
	directory->levels[directory->count++] = level;
}

/* Whether the first LEN bytes of PATH name it, or a directory above it. */
static bool leads_to(const char *path, size_t len, const char *last)
{
	return strncmp(path, last, len) == 0 && strlen(path) >= len &&
	       (path[len] == '/' || path[len] == '\0' || len == 1);
}

/*
 * Since when the host's directory PATH is the one that it is: another one renamed to its name, or to that of one above
 * it, brings files along that are older than that. A rename changes the directory, and the one it lies in: where either
 * is unchanged since a moment, there was none. What lies above the workspace does not count while that is the directory
 * that was mounted. Entries come in the order of their paths, so each directory is looked at once; for later entries that
 * may be too early, which origin_index_find_replaced() makes good.
 */
static uint64_t directory_since(const struct origin_index *index, const char *path)
{
	struct origin_directory *last = index->last_directory;
	const char *workspace = index->sandbox->workspace;
	size_t len = strlen(path), at;

	if (index->is_same_place && !target_relative(workspace, path))
		return 0;
	while (last->count > 0 && !leads_to(path, last->levels[last->count - 1].len, last->path))
		last->count--;
	free(last->path);
	last->path = xstrdup(path);
	if (last->count == 0)
		push_level(index, last, index->is_same_place ? strlen(workspace) : 1);
	while ((at = last->levels[last->count - 1].len) < len) {
		at += path[at] == '/';
		push_level(index, last, at + strcspn(path + at, "/"));
	}
	return last->levels[last->count - 1].since_ns;
}

/* Whether the host's directory PATH is the one that it was at THEN_NS. */
static bool is_directory_since(const struct origin_index *index, const char *path, uint64_t then_ns)
{
	uint64_t since_ns = directory_since(index, path);

	return since_ns == 0 ||
	       (since_ns <= INT64_MAX && origin_index_is_before(index, (int64_t)since_ns, then_ns));
}

/* Files of one directory share a proof, of the earliest moment that one of them needs. */
static void add_proof(struct origin_directory *last, const char *directory, const char *entry,
		      uint64_t then_ns)
{
	struct origin_proof *proof =
		last->proof_count > 0 ? &last->proofs[last->proof_count - 1] : NULL;

	if (proof && strcmp(proof->directory, directory) == 0) {
		if (then_ns < proof->then_ns)
			proof->then_ns = then_ns;
		return;
	}
	last->proofs = xrealloc(last->proofs, last->proof_count + 1, sizeof(*last->proofs));
	last->proofs[last->proof_count++] = (struct origin_proof){ .directory = xstrdup(directory),
								   .entry = xstrdup(entry),
								   .then_ns = then_ns };
}

const char *origin_index_find_replaced(const struct origin_index *index)
{
	struct origin_directory *last = index->last_directory;

	last->count = 0;
	for (size_t i = 0; i < last->proof_count; i++)
		if (!is_directory_since(index, last->proofs[i].directory, last->proofs[i].then_ns))
			return last->proofs[i].entry;
	return NULL;
}

void origin_directory_free(struct origin_directory *directory)
{
	for (size_t i = 0; i < directory->proof_count; i++) {
		free(directory->proofs[i].directory);
		free(directory->proofs[i].entry);
	}
	free(directory->proofs);
	free(directory->levels);
	free(directory->path);
	free(directory);
}

/*
 * Whether the sandbox made directory PATH where the host had none. A directory that was renamed shows what the host has; a plain
 * user's is a copy.
 */
static bool is_made(const struct origin_index *index, const char *path)
{
	bool is_user = index->stack->count > 0 && index->stack->user_xattr[0];
	const struct origin_record *record = origin_records_find(&index->touched, path, false);

	return record && record->origin.quality != ORIGIN_LOST && !record->origin.identity.exists &&
	       (is_user || !record->origin.from);
}

bool origin_is_noted_hidden(const struct origin_index *index, const char *path)
{
	owned(free_ptr) char *name = xasprintf(ORIGIN_HIDDEN "%s", path);

	return origin_records_find(&index->touched, name, false);
}

/*
 * Whether PATH lies in a directory of the host's that was removed inside, or in whose place the sandbox has one of its own. What the
 * host has put there since, also where a promotion made the directory, is not seen inside, so that no time proves that the sandbox has
 * known it.
 */
static bool is_hidden(const struct origin_index *index, const char *path)
{
	owned(free_ptr) char *above = xstrdup(path);
	char *slash;

	while ((slash = strrchr(above, '/')) && slash != above) {
		*slash = '\0';
		if (!target_relative(index->sandbox->workspace, above))
			break;
		if (is_made(index, above) || origin_is_noted_hidden(index, above))
			return true;
	}
	return false;
}

/* Whether what the host has at PATH, last changed at CTIME_NS, is what it had when the sandbox did not know of it yet. */
static bool is_older(const struct origin_index *index, const struct delta_entry *entry,
		     const char *path, int64_t ctime_ns)
{
	uint64_t then_ns = last_unknown(index, entry);
	owned(free_ptr) char *directory = xstrdup(path);
	char *slash = strrchr(directory, '/');

	if (!origin_index_is_before(index, ctime_ns, then_ns) || is_hidden(index, path) ||
	    origin_is_in_made(index->stack, &entry->new, then_ns))
		return false;
	slash[slash == directory] = '\0';
	if (!is_directory_since(index, directory, then_ns))
		return false;
	add_proof(index->last_directory, directory, entry->path, then_ns);
	return true;
}

/* Whether nothing was removed from the host's directory of ENTRY since then: a removal is noted there. */
static bool is_directory_still(const struct origin_index *index, const struct delta_entry *entry)
{
	owned(free_ptr) char *above = xstrdup(entry->path);
	struct txn_identity now;
	char *slash;

	do {
		slash = strrchr(above, '/');
		if (!slash || slash == above)
			return false;
		*slash = '\0';
		if (!target_relative(index->sandbox->workspace, above))
			return false;
		if (origin_index_look(index, above, &now) < 0)
			return false;
	} while (!now.exists);
	return is_older(index, entry, above, now.ctime_ns);
}

/* The host has nothing there. Had it something when the sandbox took it? */
static void work_out_absent(const struct origin_index *index, const struct delta_entry *entry,
			    struct origin *origin)
{
	const struct origin_record *own;
	uint64_t ino;

	origin->quality = ORIGIN_EXACT;
	if (entry->from || !origin_is_copied_up(index->stack, entry, &ino) ||
	    is_directory_still(index, entry))
		return;
	own = origin_own_find(index, entry);
	if (own) {
		origin->from = own->origin.from ? xstrdup(own->origin.from) : NULL;
		return;
	}
	/* Where the directory was renamed to, there was nothing; the inode is that of the file's old name. */
	if (origin_is_in_moved(index->stack, &entry->new)) {
		origin->identity.ino = ino;
		return;
	}
	/* It was there, that is all there is to know. */
	origin->quality = ORIGIN_LOST;
	origin->identity.exists = true;
	origin->identity.ino = ino;
}

void origin_work_out(const struct origin_index *index, const struct delta_entry *entry,
		     const struct txn_identity *now, struct origin *ret_origin)
{
	const char *path = origin_base_path(index->stack, entry);
	uint64_t birth_ns;

	*ret_origin = (struct origin){ .quality = ORIGIN_LOST };
	if (!now->exists) {
		work_out_absent(index, entry, ret_origin);
		return;
	}
	/*
	 * Copied up before, by another name since nothing is recorded of this one, and changed since: what a root
	 * caller's sandbox was shown by this one may have been its own copy, so that no time proves that it has seen
	 * what is there. A new base is taken with a new top, which holds no copy.
	 */
	if (!origin_index_is_before(index, now->ctime_ns, index->sandbox->base_ns) &&
	    origin_is_changed_since_copied(index, now))
		return;
	if (is_marked(index, entry, &birth_ns)
		    ? !origin_index_is_before(index, now->ctime_ns, birth_ns)
		    : !is_older(index, entry, path, now->ctime_ns))
		return;
	ret_origin->quality = ORIGIN_EXACT;
	ret_origin->identity = *now;
}
