/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets that are exchanged whole: readers see all of the old tree or all of the new one.
 *
 * A sibling tree is built in a slot, of hard links to what stays and new objects for what changes; then one transaction
 * on the directory above replaces the target by it. Undo and recovery are those of any replacement.
 */
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/txn/stage.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_mount.h"
#include "workspace/txn/txn_lease.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct swap {
	const struct txn_plan *plan; /* the caller's */
	struct txn old;		     /* its operations, against the tree as it is */
	int new_fd;		     /* the sibling */
};

/* The attributes of a directory of the old tree onto its twin. */
static int copy_attributes(int old_dir_fd, const char *old_name, int new_fd, const char *new_name)
{
	owned(fd_close) int from =
		openat(old_dir_fd, old_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int to =
		sys_openat(new_fd, new_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	owned(txn_attributes_done) struct txn_attributes meta = { 0 };

	if (from < 0 || to < 0 || txn_meta_read(from, true, &meta) < 0)
		return -1;
	return txn_meta_set(to, &meta);
}

/* Not every caller may link another owner's file, and the number of links of an inode is limited. */
static int copy_file(const struct walk_entry *entry, int new_fd)
{
	owned(fd_close) int from =
		openat(entry->dir_fd, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stage_meta meta = {
		.mode = entry->st->stx_mode,
		.uid = entry->st->stx_uid,
		.gid = entry->st->stx_gid,
		.mtime = { .tv_sec = entry->st->stx_mtime.tv_sec,
			   .tv_nsec = entry->st->stx_mtime.tv_nsec },
		.set_owner = true,
	};
	owned(txn_attributes_done) struct txn_attributes attributes = { 0 };
	struct error err = { 0 };

	if (from < 0 || txn_meta_read(from, true, &attributes) < 0)
		return -1;
	meta.xattrs = &attributes.xattrs;
	if (stage_file(new_fd, entry->path, from, &meta, &err) == 0)
		return 0;
	errno = err.errnum;
	return -1;
}

static int add_twin(const struct walk_entry *entry, void *cookie)
{
	const struct swap *swap = cookie;

	if (entry->is_leaving)
		return copy_attributes(entry->dir_fd, entry->name, swap->new_fd, entry->path);
	if (S_ISDIR(entry->st->stx_mode))
		return sys_mkdirat(swap->new_fd, entry->path, 0700);
	if (sys_linkat(entry->dir_fd, entry->name, swap->new_fd, entry->path, 0) == 0)
		return 0;
	return S_ISREG(entry->st->stx_mode) && (errno == EPERM || errno == EMLINK)
		       ? copy_file(entry, swap->new_fd)
		       : -1;
}

/* The directory of PATH in the sibling, and its last name. The caller owns the descriptor. */
static int open_above(const struct swap *swap, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	owned(free_ptr) char *above = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");

	*ret_name = slash ? slash + 1 : path;
	return sys_open_beneath(swap->new_fd, above, O_RDONLY | O_DIRECTORY);
}

static int find_twin(const struct txn_stage *stage, size_t op, int *ret_fd,
		     char ret_name[static TXN_STAGED_NAME_SIZE])
{
	const struct swap *swap = stage->within;
	const char *name;
	int fd = open_above(swap, swap->plan->ops[op].path, &name);

	if (fd < 0)
		return -1;
	*ret_fd = fd;
	(void)snprintf(ret_name, TXN_STAGED_NAME_SIZE, "%s", name);
	return 0;
}

/* The sibling is not visible yet: operations are carried out directly. */
static int change_twin(struct swap *swap, const struct txn_op *op, struct error *err)
{
	const char *name, *other;
	owned(fd_close) int fd = open_above(swap, op->path, &name);
	owned(fd_close) int other_fd = -1;
	struct txn_stage stage = { .fd = fd, .name = name, .find = find_twin, .within = swap };

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "'%s'", op->path);
	if (op->kind == TXN_MOVE) {
		other_fd = open_above(swap, op->to, &other);
		if (other_fd < 0 || sys_renameat2(fd, name, other_fd, other, 0) < 0)
			return error_errno(err, ERROR_HOST, "'%s'", op->path);
		return 0;
	}
	if (op->kind != TXN_ADD && sys_remove_tree(fd, name) < 0)
		return error_errno(err, ERROR_HOST, "'%s'", op->path);
	if (op->kind == TXN_DELETE)
		return 0;
	return swap->plan->stage(op, &stage, swap->plan->cookie, err);
}

/* Attributes of directories, as the plan wants them. */
static int change_attributes(const struct swap *swap, struct error *err)
{
	for (size_t i = 0; i < swap->old.count; i++) {
		const struct txn_item *item = &swap->old.items[i];

		if (item->kind != TXN_META)
			continue;
		owned(fd_close) int fd = sys_open_beneath(
			swap->new_fd, *item->path ? item->path : ".", O_RDONLY | O_DIRECTORY);

		if (fd < 0 || txn_meta_set(fd, &item->new_meta) < 0)
			return error_errno(err, ERROR_HOST, "'%s'", item->path);
	}
	return 0;
}

static int stage_twin(const struct txn_op *op, struct txn_stage *stage, void *cookie,
		      struct error *err)
{
	struct swap *swap = cookie;
	struct walk walk = { .purpose = WALK_REPLACE, .visit = add_twin, .cookie = swap };

	(void)op;
	if (sys_mkdirat(stage->fd, stage->name, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make the new tree");
	swap->new_fd = sys_openat(stage->fd, stage->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (swap->new_fd < 0 || walk_tree(&walk, swap->old.root_fd, ".") < 0)
		return error_errno(err, ERROR_HOST, "cannot copy '%s'", swap->old.root);
	for (size_t i = 0; i < swap->plan->count; i++) {
		if (swap->plan->ops[i].kind != TXN_META &&
		    change_twin(swap, &swap->plan->ops[i], err) < 0)
			return -1;
	}
	if (copy_attributes(swap->old.root_fd, ".", stage->fd, stage->name) < 0)
		return error_errno(err, ERROR_HOST, "cannot copy '%s'", swap->old.root);
	return change_attributes(swap, err);
}

static int notify_begun(const char *directory, void *cookie, struct error *err)
{
	const struct swap *swap = cookie;

	return swap->plan->begun(directory, swap->plan->cookie, err);
}

/* One operation on the directory above: the target is replaced by its sibling. */
static int run_above(struct swap *swap, struct txn_result *result, struct error *err)
{
	char *slash = strrchr(swap->old.root, '/');
	owned(free_ptr) char *above =
		slash == swap->old.root
			? xstrdup("/")
			: xstrndup(swap->old.root, (size_t)(slash - swap->old.root));
	struct txn_op op = { .kind = TXN_REPLACE, .path = slash + 1 };
	struct txn_plan plan = *swap->plan;

	txn_identity_of(swap->old.root_fd, "", &op.old);
	if (txn_tree_of(swap->old.root_fd, ".", &op.old.tree) < 0)
		return error_errno(err, errno == EXDEV ? ERROR_CONFLICT : ERROR_HOST,
				   "'%s' cannot be exchanged whole", swap->old.root);
	plan.target.root = above;
	plan.target.swap = false;
	plan.ops = &op;
	plan.count = 1;
	plan.stage = stage_twin;
	plan.begun = swap->plan->begun ? notify_begun : NULL;
	plan.cookie = swap;
	return txn_run_plain(&plan, true, result, err);
}

/* A writer waits for a file that is in the old tree now: back, and let it write. */
static int check_late_writers(struct swap *swap, struct txn_result *result, struct error *err)
{
	struct txn_result undone;
	struct error ignored;

	for (size_t i = 0; i < swap->old.count; i++) {
		if (txn_lease_check(&swap->old, i, true, true) == 0)
			continue;
		result->is_left = txn_undo(result->directory, NULL, &undone, err) < 0;
		txn_result_done(&undone);
		if (result->is_left)
			return -1;
		result->is_left = txn_forget(result->directory, &ignored) < 0;
		free(result->directory);
		result->directory = NULL;
		txn_conflict_add(result, &swap->old, i, "busy");
		return txn_conflict_error(result, err);
	}
	return 0;
}

static int run_locked(struct swap *swap, struct txn_result *result, struct error *err)
{
	if (txn_open_target(&swap->old, swap->plan, err) < 0)
		return -1;
	owned(free_ptr) char *dots = xasprintf("%s/..", swap->old.root);

	uint64_t above, mount;

	if (mount_of(AT_FDCWD, dots, &above) < 0 || mount_of(swap->old.root_fd, "", &mount) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at what is above '%s'",
				   swap->old.root);
	if (strcmp(swap->old.root, "/") == 0 || above != mount)
		return error_set(err, ERROR_CONFLICT,
				 "'%s' is a mount point and cannot be exchanged", swap->old.root);
	if (txn_add_ops(&swap->old, swap->plan, err) < 0 ||
	    txn_check_plan(&swap->old, result, err) < 0)
		return -1;
	txn_lease_all(&swap->old, true, result);
	if (result->conflict_count > 0)
		return txn_conflict_error(result, err);
	if (run_above(swap, result, err) < 0)
		return -1;
	return check_late_writers(swap, result, err);
}

int txn_swap(const struct txn_plan *plan, struct txn_result *result, struct error *err)
{
	struct swap swap = { .plan = plan, .new_fd = -1 };

	txn_init(&swap.old);
	int status = run_locked(&swap, result, err);

	fd_close(&swap.new_fd);
	txn_done(&swap.old);
	return status;
}
