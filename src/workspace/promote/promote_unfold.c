/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renamed directories that could not be shown by their new name once the host has them there.
 *
 * After a promotion the layer's mark names the directory's own place. Where an older layer has something at that place (a
 * directory that was sealed there, or the whiteout of one), the kernel would find that instead of the host's directory.
 * So right before the promotion such a directory becomes one of the layer's own: what it shows from below is copied into
 * it, name by name, which changes nothing of what is seen, and then its mark goes. A sealed layer is written to only where
 * nothing but this sandbox, whose processes rest meanwhile, stands on it; otherwise the promotion is refused.
 */
#include "workspace/promote/promote_left.h"

#include "base/core/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DRAFT ".aisbx-unfolded"
/* What is copied of one directory. */
#define COPIED_MAX ((uint64_t)1 << 30)

/* 1, 0, or -1 with errno. */
static int is_covered(const struct view_stack *stack, const struct moved *moved)
{
	owned(free_ptr) char *unit = xstrndup(moved->place, strcspn(moved->place, "/"));
	uint64_t birth_ns;
	int is_cover = 0;

	for (size_t i = moved->layer + 1; i < stack->count && is_cover == 0; i++)
		is_cover = origin_find_cover(stack, i, unit, moved->own + 1, &birth_ns);
	return is_cover;
}

static int stage_side(const struct view_stack *stack, const struct delta_side *side, int dir_fd,
		      struct error *err)
{
	owned(xattr_list_done) struct xattr_list xattrs = { 0 };
	owned(fd_close) int from = -1;
	struct stage_meta meta = { .mode = side->st.st_mode & 07777,
				   .uid = side->st.st_uid,
				   .gid = side->st.st_gid,
				   .mtime = side->st.st_mtim,
				   .set_owner = true,
				   .xattrs = &xattrs };

	if (delta_xattrs(stack, side, &xattrs, err) < 0)
		return -1;
	switch (side->st.st_mode & S_IFMT) {
	case S_IFREG:
		from = delta_open_side(stack, side);
		return from < 0 ? error_errno(err, ERROR_HOST, "cannot read '%s'", side->layer_path)
				: stage_file(dir_fd, DRAFT, from, &meta, err);
	case S_IFLNK:
		return stage_link(dir_fd, DRAFT, side->link, &meta, err);
	case S_IFDIR:
		return stage_directory(dir_fd, DRAFT, err) < 0
			       ? -1
			       : stage_finish_directory(dir_fd, DRAFT, &meta, err);
	case S_IFIFO:
		return stage_fifo(dir_fd, DRAFT, &meta, err);
	default:
		meta.mode = side->st.st_mode;
		return stage_device(dir_fd, DRAFT, side->st.st_rdev, &meta, err);
	}
}

/* Copies what ENTRY shows to BELOW in the layer's directory FD, complete or not at all. */
static int copy_entry(const struct view_stack *stack, const struct delta_entry *entry, int fd,
		      const char *below, struct error *err)
{
	const char *slash = strrchr(below, '/'), *name = slash ? slash + 1 : below;
	owned(free_ptr) char *above =
		slash ? xstrndup(below, (size_t)(slash - below)) : xstrdup(".");
	owned(fd_close) int dir_fd = sys_open_beneath(fd, above, O_RDONLY | O_DIRECTORY);

	if (dir_fd < 0 || (sys_unlinkat(dir_fd, DRAFT, 0) < 0 && errno != ENOENT &&
			   sys_unlinkat(dir_fd, DRAFT, AT_REMOVEDIR) < 0))
		return error_errno(err, ERROR_HOST, "cannot write to the layer of '%s'",
				   entry->path);
	/* Sockets belong to processes that are gone. */
	if (S_ISSOCK(entry->new.st.st_mode))
		return 0;
	if (stage_side(stack, &entry->new, dir_fd, err) < 0)
		return -1;
	if (sys_renameat2(dir_fd, DRAFT, dir_fd, name, RENAME_NOREPLACE) < 0)
		return error_errno(err, ERROR_HOST, "cannot write to the layer of '%s'",
				   entry->path);
	return 0;
}

/* The layer's mark goes when all is there: until then the directory shows the same with it. */
static int set_opaque(int fd)
{
	if (sys_fsetxattr(fd, "trusted.overlay.opaque", "y", 1) < 0)
		return -1;
	return fremovexattr(fd, PROMOTION_MARK);
}

/* Whether the layer has to show ENTRY, at *ret_below of directory PATH, from below. */
static bool is_from_below(const struct moved *moved, const struct delta_entry *entry,
			  const char *path, const char **ret_below)
{
	*ret_below = target_relative(path, entry->path);
	return *ret_below && **ret_below && entry->new.exists && entry->new.layer > moved->layer;
}

static int check_size(const struct moved *moved, const struct delta *delta, const char *path,
		      struct error *err)
{
	uint64_t bytes = 0;
	const char *below;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < delta->count; i++)
		if (is_from_below(moved, &delta->items[i], path, &below) &&
		    S_ISREG(delta->items[i].new.st.st_mode))
			bytes += (uint64_t)delta->items[i].new.st.st_blocks * 512;
	if (bytes <= COPIED_MAX)
		return 0;
	return error_advise(
		err, ERROR_DENIED, "in the sandbox: cp -a DIR COPY && rm -r DIR && mv COPY DIR",
		"'%s' was renamed to where an earlier snapshot has something, and is too "
		"large to be copied into the sandbox for that: copy it there",
		str_shown(moved->path, shown));
}

static int unfold(const struct promote *promote, const struct moved *moved, struct error *err)
{
	const char *workspace = promote->sandbox->workspace;
	owned(free_ptr) char *path = xasprintf("%s/%s", workspace, moved->path);
	/* As the layer shows it: what newer ones changed there is theirs. */
	const struct delta_options options = { .workspace = workspace,
					       .sandbox = promote->sandbox,
					       .new_from = moved->layer,
					       .old_from = promote->stack->count,
					       .only_workspace = true,
					       .expand = true };
	owned(delta_done) struct delta delta = { 0 };
	owned(fd_close) int fd = sys_open_beneath(promote->stack->layer_fds[moved->layer],
						  moved->place, O_RDONLY | O_DIRECTORY);
	const char *below;

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the layer of '%s'", path);
	if (delta_read(promote->stack, &options, &delta, err) < 0)
		return -1;
	if (delta.is_partial)
		return error_set(err, ERROR_DENIED, "'%s' could not be read to its end", path);
	if (check_size(moved, &delta, path, err) < 0)
		return -1;
	for (size_t i = 0; i < delta.count; i++)
		if (is_from_below(moved, &delta.items[i], path, &below) &&
		    copy_entry(promote->stack, &delta.items[i], fd, below, err) < 0)
			return -1;
	/* A layer that counts as written to the disk is so again before it shows nothing else. */
	return syncfs(fd) == 0 && set_opaque(fd) == 0
		       ? 0
		       : error_errno(err, ERROR_HOST, "cannot mark the layer of '%s'", path);
}

/* Whether sandbox NAME stands on layer LID. 1, 0, or -1: what cannot be read may. */
static int stands_on(const struct store *store, const char *name, const char *lid,
		     struct error *err)
{
	owned(layer_chain_done) struct layer_chain chain = { 0 };
	struct sandbox other = { .dir_fd = -1, .lock_fd = -1 };
	int found;

	if (sandbox_open(store, name, SANDBOX_UNLOCKED, &other, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	found = layer_chain_read(store, other.head, &chain, err);
	sandbox_close(&other);
	for (size_t i = 0; i < chain.count && found == 0; i++)
		found = strcmp(chain.items[i].id, lid) == 0;
	return found;
}

/* Refuses what would take writing to a layer that others stand on. */
static int refuse_sealed(const struct promote *promote, const struct moved *moved,
			 struct error *err)
{
	const struct store *store = promote->sandbox->store;
	owned(free_ptr) char *place = NULL;
	owned(strv_done) struct strv names = STRV_INIT;
	char shown[STR_SHOWN_SIZE];
	const char *lid;

	if (promotion_layer_place(store, promote->stack->layer_fds[moved->layer], &place, err) < 0)
		return -1;
	lid = place ? target_relative("layers", place) : NULL;
	if (place && !lid)
		return 0;
	if (!lid || promote->request->snapshot)
		return error_advise(
			err, ERROR_DENIED, "promote the sandbox without a snapshot",
			"'%s' was renamed to where an earlier snapshot has something: a "
			"snapshot cannot be changed to show it once the host has it there",
			str_shown(moved->path, shown));
	if (sandbox_list(store, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		int stands = strcmp(names.items[i], promote->sandbox->name) == 0
				     ? 0
				     : stands_on(store, names.items[i], lid, err);

		if (stands < 0)
			return -1;
		if (stands > 0)
			return error_advise(
				err, ERROR_DENIED,
				"aisbx rm removes it, when it is no longer needed",
				"'%s' was renamed to where an earlier snapshot has something, and "
				"the sandbox %s stands on that, too: it would lose the directory",
				str_shown(moved->path, shown), names.items[i]);
	}
	return 0;
}

int promote_find_covered(const struct promote *promote, struct error *err)
{
	int count = 0;

	for (size_t i = 0; promote->is_workspace && i < promote->moved_count; i++) {
		int is_cover = is_covered(promote->stack, &promote->moved[i]);

		if (is_cover < 0)
			return error_errno(err, ERROR_HOST, "cannot look at the layers of '%s'",
					   promote->moved[i].path);
		promote->moved[i].is_covered = is_cover;
		count += is_cover;
	}
	return count;
}

int promote_unfold(const struct promote *promote, struct error *err)
{
	for (int is_check = 1; is_check >= promote->request->dry_run; is_check--) {
		for (size_t i = 0; i < promote->moved_count; i++) {
			const struct moved *moved = &promote->moved[i];

			if (!moved->is_covered || !promote_applies_moved(promote, moved))
				continue;
			if ((is_check ? refuse_sealed(promote, moved, err)
				      : unfold(promote, moved, err)) < 0)
				return -1;
		}
	}
	return 0;
}
