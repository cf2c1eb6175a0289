/* SPDX-License-Identifier: Apache-2.0 */
/* Before anything is written: whether the targets are what the plan saw, and whether they can be displaced at all. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SWAPS_MAX (64u << 10)

/* Not a conflict, but a failed call; errno is set. */
static const char trouble[] = "trouble";

/* Why a directory could not be opened. */
static const char *gone_or_trouble(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV
		       ? "parent-gone"
		       : trouble;
}

/* Inodes of files that the kernel swaps to. */
struct swaps {
	struct {
		dev_t dev;
		ino_t ino;
	} items[16];
	size_t count;
};

static void read_swaps(struct swaps *swaps)
{
	struct str text = STR_INIT;
	struct error ignored;
	struct stat st;

	if (file_read(AT_FDCWD, "/proc/swaps", SWAPS_MAX, &text, &ignored) == 0) {
		char *rest = text.data;

		for (char *line; (line = strsep(&rest, "\n"));) {
			line[strcspn(line, " \t")] = '\0';
			if (line[0] != '/' || swaps->count == 16 || stat(line, &st) < 0 ||
			    !S_ISREG(st.st_mode))
				continue;
			swaps->items[swaps->count].dev = st.st_dev;
			swaps->items[swaps->count++].ino = st.st_ino;
		}
	}
	str_done(&text);
}

static bool is_swap(const struct swaps *swaps, const struct txn_identity *id)
{
	for (size_t i = 0; i < swaps->count; i++) {
		if (swaps->items[i].ino == id->ino && swaps->items[i].dev == id->dev)
			return true;
	}
	return false;
}

/* What the kernel would refuse to rename, or NULL. */
static const char *object_refuses(int dir_fd, const char *name, const struct swaps *swaps,
				  const struct txn_identity *id)
{
	struct statx st;

	if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
		return NULL;
	if (st.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return "immutable";
	if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return "mount-point";
	return is_swap(swaps, id) ? "swap-file" : NULL;
}

/* Whether entries of a directory can be changed. */
static const char *directory_refuses(int fd)
{
	struct statvfs fs;
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
	    (st.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)))
		return "immutable";
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY))
		return "read-only";
	if (syscall(SYS_faccessat2, fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
	    (errno == EACCES || errno == EROFS))
		return errno == EROFS ? "read-only" : "not-permitted";
	return NULL;
}

/* As the plan saw it, to the nanosecond of the last change. */
static bool is_as_planned(const struct txn_item *item, const struct txn_identity *got)
{
	const struct txn_identity *want = &item->old;

	if (want->exists != got->exists)
		return false;
	if (!want->exists)
		return true;
	bool is_same = want->dev == got->dev && want->ino == got->ino && want->mode == got->mode &&
		       want->uid == got->uid && want->gid == got->gid;

	/* What happens inside a directory is its own affair unless the directory goes. */
	if (item->kind == TXN_META || (S_ISDIR(want->mode) && item->kind == TXN_MOVE))
		return is_same;
	return is_same && want->size == got->size && want->mtime_ns == got->mtime_ns &&
	       (!want->ctime_ns || want->ctime_ns == got->ctime_ns);
}

/* A directory that goes takes everything below along: that must be what it was, and no other mount. */
static const char *check_tree(struct txn_item *item, int dir_fd, const char *name)
{
	uint64_t tree;

	if (!S_ISDIR(item->old.mode) || (item->kind != TXN_DELETE && item->kind != TXN_REPLACE))
		return NULL;
	if (txn_tree_of(dir_fd, name, &tree) < 0)
		return errno == EXDEV ? "mount-point" : "changed";
	if (item->old.tree && item->old.tree != tree)
		return "changed";
	item->old.tree = tree;
	return NULL;
}

static const char *check_meta(struct txn *txn, size_t index)
{
	struct txn_item *item = &txn->items[index];
	owned(fd_close) int fd = txn_where_directory(txn, index, O_PATH);
	struct txn_identity got;

	if (fd < 0)
		return gone_or_trouble();
	if (txn_identity_of(fd, "", &got) < 0)
		return trouble;
	if (!is_as_planned(item, &got))
		return "changed";
	item->old = got;
	owned(fd_close) int readable = txn_where_directory(txn, index, O_RDONLY);

	/* One that may not be read: its mode is what changes. */
	if (readable < 0 && errno == EACCES && !item->new_meta.has_xattrs) {
		item->old_meta = (struct txn_attributes){ .mode = got.mode & 07777,
							  .uid = got.uid,
							  .gid = got.gid,
							  .mtime_ns = got.mtime_ns };
		return NULL;
	}
	if (readable < 0)
		return errno == EACCES ? "not-permitted" : trouble;
	bool is_read = txn_meta_read(readable, item->new_meta.has_xattrs, &item->old_meta) == 0;

	return is_read ? NULL : trouble;
}

/* Where an item moves must be free, or become so by an earlier one. */
static const char *check_destination(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];
	struct txn_identity got;
	const char *name;
	int fd;

	if (item->kind != TXN_MOVE || txn->parents[item->to_parent].slot != TXN_NONE_INDEX)
		return NULL;
	if (txn_where(txn, index, true, &fd, &name) < 0)
		return gone_or_trouble();
	if (txn_identity_of(fd, name, &got) < 0)
		return trouble;
	if (got.exists && !txn_is_ours(txn, index, item->to, &got))
		return "changed";
	txn_times_note(&txn->parents[item->to_parent], fd);
	return directory_refuses(fd);
}

/* What is at an item's path; it counts as free when an earlier item takes it away. -1 with errno when that cannot be determined. */
static int look(struct txn *txn, size_t index, int fd, const char *name,
		struct txn_identity *ret_got)
{
	const struct txn_item *item = &txn->items[index];

	if (txn_identity_of(fd, name, ret_got) < 0)
		return -1;
	if (ret_got->exists && !item->old.exists && txn_is_ours(txn, index, item->path, ret_got))
		*ret_got = (struct txn_identity){ 0 };
	return 0;
}

static const char *check_item(struct txn *txn, size_t index, const struct swaps *swaps)
{
	struct txn_item *item = &txn->items[index];
	struct txn_identity got;
	const char *name, *refused;
	int fd;

	if (item->kind == TXN_META)
		return check_meta(txn, index);
	/* In what is yet to be staged there is nothing to look at. */
	if (txn->parents[item->parent].slot != TXN_NONE_INDEX)
		return NULL;
	if (txn_where(txn, index, false, &fd, &name) < 0)
		return gone_or_trouble();
	if (look(txn, index, fd, name, &got) < 0)
		return trouble;
	if (!is_as_planned(item, &got))
		return "changed";
	refused = check_tree(item, fd, name);
	got.tree = item->old.tree;
	item->old = got;
	if (!refused && got.exists)
		refused = object_refuses(fd, name, swaps, &got);
	return refused ? refused : check_destination(txn, index);
}

static bool changes_modes(const struct txn *txn)
{
	for (size_t i = 0; i < txn->count; i++) {
		if (txn->items[i].kind == TXN_META)
			return true;
	}
	return false;
}

/* Each directory once. */
static void check_parents(struct txn *txn, struct txn_result *result)
{
	for (size_t i = 0; i < txn->count; i++) {
		const struct txn_item *item = &txn->items[i];
		const char *name, *refused;
		int fd;

		if (item->kind == TXN_META || txn->parents[item->parent].is_touched ||
		    txn->parents[item->parent].slot != TXN_NONE_INDEX)
			continue;
		txn->parents[item->parent].is_touched = true;
		if (txn_where(txn, i, false, &fd, &name) < 0)
			continue;
		txn_times_note(&txn->parents[item->parent], fd);
		refused = directory_refuses(fd);
		/* A directory whose mode is about to change lets its owner in first. */
		if (refused && !(strcmp(refused, "not-permitted") == 0 && changes_modes(txn)))
			txn_conflict_add(result, txn, i, refused);
	}
	for (size_t i = 0; i < txn->parent_count; i++)
		txn->parents[i].is_touched = false;
}

int txn_check_plan(struct txn *txn, struct txn_result *result, struct error *err)
{
	struct swaps swaps = { .count = 0 };

	read_swaps(&swaps);
	for (size_t i = 0; i < txn->count; i++) {
		const char *refused = check_item(txn, i, &swaps);

		if (refused == trouble)
			return error_errno(err, ERROR_HOST, "cannot look at '%s'",
					   txn->items[i].path);
		if (refused)
			txn_conflict_add(result, txn, i, refused);
	}
	if (result->conflict_count == 0)
		check_parents(txn, result);
	return result->conflict_count ? txn_conflict_error(result, err) : 0;
}

/* As before staging: it has not been touched meanwhile. */
static bool is_still(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];
	struct txn_identity got;
	const char *name;
	int fd;

	if (item->kind == TXN_META || txn->parents[item->parent].slot != TXN_NONE_INDEX)
		return true;
	if (txn_where(txn, index, false, &fd, &name) < 0)
		return false;
	txn_identity_of(fd, name, &got);
	if (!item->old.exists)
		return !got.exists || txn_is_ours(txn, index, item->path, &got);
	if (S_ISDIR(got.mode))
		return txn_is_unchanged(txn, item, &item->old, &got);
	return is_as_planned(item, &got);
}

int txn_check_again(struct txn *txn, struct txn_result *result, struct error *err)
{
	for (size_t i = 0; i < txn->count; i++) {
		if (!is_still(txn, i))
			txn_conflict_add(result, txn, i, "changed");
	}
	return result->conflict_count ? txn_conflict_error(result, err) : 0;
}

/* Attributes of a directory are what the transaction made them. */
static bool meta_is(struct txn *txn, size_t index, const struct txn_attributes *want)
{
	owned(fd_close) int fd = txn_where_directory(txn, index, O_PATH);
	struct txn_identity got = { 0 };

	if (fd >= 0)
		txn_identity_of(fd, "", &got);
	return txn_is_same(txn, &txn->items[index].old, &got) &&
	       (got.mode & 07777) == (want->mode & 07777) && got.uid == want->uid &&
	       got.gid == want->gid;
}

/* Whether an item is where the reversal takes it from. -1 with errno when that cannot be determined. */
static int is_as_left(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];

	if (item->kind == TXN_META)
		return meta_is(txn, index, &item->new_meta);
	enum txn_progress progress = txn_progress(txn, index);

	return progress == PROGRESS_UNSEEN ? -1 : progress == PROGRESS_NEW;
}

int txn_check_reversal(struct txn *txn, struct txn_result *result, struct error *err)
{
	for (size_t i = 0; i < txn->count; i++)
		txn->items[i].is_new = true;
	for (size_t i = 0; i < txn->count; i++) {
		int is_good = is_as_left(txn, i);

		if (is_good < 0)
			return error_errno(err, ERROR_HOST, "cannot look at '%s'",
					   txn->items[i].path);
		if (!is_good)
			txn_conflict_add(result, txn, i, "changed");
	}
	return result->conflict_count ? txn_conflict_error(result, err) : 0;
}
