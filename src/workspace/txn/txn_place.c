/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a transaction keeps journal and slots, and removing them.
 *
 * Slots must lie on the mount of their targets, since nothing can be renamed between two. The journal decides for all
 * slots, wherever they are, so it names them before it makes them.
 */
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/txn/txn_mount.h"
#include "workspace/txn/txn_lock.h"
#include "workspace/txn/txn_orphan.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 16

/* The directory PATH, ours alone; made when it is missing. -1 when it cannot be had. */
static int open_own(const char *path)
{
	struct stat st;

	if (sys_mkdirat(AT_FDCWD, path, 0700) < 0 && errno != EEXIST)
		return -1;
	owned(fd_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_uid != geteuid() || (st.st_mode & 077)) {
		errno = EACCES;
		return -1;
	}
	return fd_take(&fd);
}

/*
 * Asks ext4 to put each directory made in FD far from the last one. It looks for inodes beside their directory and steps
 * over those freed within minutes one by one: where promotions come and go that is ten times the price of making a file.
 */
static void spread_out(int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FS_TOPDIR_FL))
		return;
	flags |= FS_TOPDIR_FL;
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* Makes NAME in BASE and locks it. A recovery may remove it as a leftover before it is locked: then try again. */
static int make_locked(const char *base, const char *name, int *ret_base_fd)
{
	for (int tries = 0; tries < TRIES; tries++) {
		owned(fd_close) int base_fd = open_own(base);
		struct stat made, there;

		if (base_fd >= 0)
			spread_out(base_fd);
		if (base_fd < 0 || (sys_mkdirat(base_fd, name, 0700) < 0 && errno != ENOENT))
			return -1;
		owned(fd_close) int fd =
			sys_openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

		if (fd < 0 && errno != ENOENT) {
			int saved = errno;

			(void)unlinkat(base_fd, name, AT_REMOVEDIR);
			errno = saved;
			return -1;
		}
		if (fd >= 0 && txn_lock_own(fd) && fstat(fd, &made) == 0 &&
		    fstatat(base_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		    there.st_ino == made.st_ino) {
			*ret_base_fd = fd_take(&base_fd);
			return fd_take(&fd);
		}
	}
	errno = EAGAIN;
	return -1;
}

/* Whether BASE is a directory of ours that goes when nothing is in it; the store's stays. */
static bool is_passing(const char *base)
{
	const char *slash = strrchr(base, '/');

	return slash && target_is_own_name(slash + 1);
}

static int use_base(struct txn *txn, const char *base)
{
	int fd = make_locked(base, txn->id, &txn->base_fd);

	if (fd < 0) {
		int saved = errno;

		if (is_passing(base))
			(void)unlinkat(AT_FDCWD, base, AT_REMOVEDIR);
		errno = saved;
		return -1;
	}
	txn->dir_fd = fd;
	txn->directory = xasprintf("%s/%s", base, txn->id);
	return 0;
}

/* Whether the caller may make entries in PATH, which must be on MOUNT. 1, 0, or -1 with errno. */
static int is_usable(const char *path, uint64_t mount)
{
	uint64_t other;

	if (mount_of(AT_FDCWD, path, &other) < 0)
		return -1;
	if (other != mount)
		return 0;
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
		return 1;
	return errno == EACCES || errno == EROFS ? 0 : -1;
}

static char *below(const char *above, const char *name)
{
	return xasprintf("%s/%s", strcmp(above, "/") == 0 ? "" : above, name);
}

/* The store, when it is on MOUNT. On first use it has no directory for staging yet. 0, or -1 with errno. */
static int add_store(const char *staging, uint64_t mount, struct strv *bases)
{
	uint64_t other;

	if (!staging)
		return 0;
	if (mkdir(staging, 0700) < 0 && errno != EEXIST)
		return -1;
	if (mount_of(AT_FDCWD, staging, &other) < 0)
		return -1;
	if (other == mount)
		strv_add(bases, staging);
	return 0;
}

/* Directories outside the target, which is not the top of its mount. 0, or -1 with errno. */
static int add_outside(const char *root, const char *top, uint64_t mount, struct strv *bases)
{
	const char *slash = strrchr(root, '/');
	owned(free_ptr) char *above =
		slash == root ? xstrdup("/") : xstrndup(root, (size_t)(slash - root));
	int usable = is_usable(above, mount);

	if (geteuid() == 0)
		strv_take(bases, below(top, ".aisbx"));
	if (usable > 0)
		strv_take(bases, below(above, ".aisbx-txn"));
	return usable < 0 ? -1 : 0;
}

int txn_place_bases(const struct txn *txn, const struct txn_target *target, struct strv *ret_bases,
		    struct error *err)
{
	owned(free_ptr) char *top = mount_root_of(txn->root);
	uint64_t mount;

	if (!top || mount_of(txn->root_fd, "", &mount) < 0 ||
	    add_store(target->store_staging, mount, ret_bases) < 0)
		return error_errno(err, ERROR_HOST,
				   "cannot find a place to stage a promotion to '%s'", txn->root);
	if (strcmp(top, txn->root) != 0 && add_outside(txn->root, top, mount, ret_bases) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at what is above '%s'", txn->root);
	if (strcmp(txn->root, "/") == 0 && geteuid() == 0)
		strv_take(ret_bases, below("/", ".aisbx"));
	/* Inside the target when nothing else is on its mount: no sandbox sees it, and no diff lists it. */
	strv_take(ret_bases, below(txn->root, ".aisbx-txn"));
	return 0;
}

/* Whether errno means that the caller may not use this directory: the next one is tried. */
static bool is_refused(void)
{
	return errno == EACCES || errno == EPERM || errno == EROFS || errno == ENOTDIR ||
	       errno == ELOOP;
}

int txn_place_begin(struct txn *txn, const struct strv *bases, struct error *err)
{
	for (size_t i = 0; i < bases->count; i++) {
		if (use_base(txn, bases->items[i]) == 0)
			return 0;
		if (!is_refused())
			return error_errno(err, ERROR_HOST, "cannot stage a promotion in '%s'",
					   bases->items[i]);
	}
	return error_errno(
		err, ERROR_HOST,
		"no place to stage a promotion to '%s' (the last choice is '%s', which must "
		"be missing or yours alone)",
		txn->root, bases->items[bases->count - 1]);
}

static uint32_t add_place(struct txn *txn, char *path, uint64_t mount)
{
	txn->places = xrealloc(txn->places, txn->place_count + 1, sizeof(*txn->places));
	txn->places[txn->place_count] =
		(struct txn_place){ .path = path, .mount = mount, .fd = -1 };
	return (uint32_t)txn->place_count++;
}

/*
 * The slot directory of another mount than the journal's, at its top; "", which is beside the targets, where a plain user may
 * write to some directory of a mount, but not to its top. NULL with errno.
 */
static char *other_place(const struct txn *txn, int fd, uint64_t mount)
{
	owned(free_ptr) char *path = mount_path_of(fd);
	owned(free_ptr) char *top = path ? mount_root_of(path) : NULL;
	bool is_root = geteuid() == 0;
	int usable = !top ? -1 : is_root ? 1 : is_usable(top, mount);

	if (usable <= 0)
		return usable < 0 ? NULL : xstrdup("");
	return xasprintf("%s/%s/%s", strcmp(top, "/") == 0 ? "" : top,
			 is_root ? ".aisbx" : ".aisbx-txn", txn->id);
}

/* 0, or -1 with errno. */
static int place_of_mount(struct txn *txn, int fd, uint32_t *ret_place)
{
	uint64_t mount, own;
	char *path;

	if (mount_of(fd, "", &mount) < 0)
		return -1;
	for (uint32_t i = 0; i < txn->place_count; i++) {
		if (txn->places[i].mount == mount) {
			*ret_place = i;
			return 0;
		}
	}
	if (txn->is_forced_beside)
		path = xstrdup("");
	else if (mount_of(txn->dir_fd, "", &own) < 0)
		return -1;
	else
		path = mount == own ? xasprintf("%s/slot", txn->directory)
				    : other_place(txn, fd, mount);
	if (!path)
		return -1;
	*ret_place = add_place(txn, path, mount);
	return 0;
}

/* The place of what is in directory PARENT. What is in a slot is where the slot is. */
static int place_of_parent(struct txn *txn, size_t item, bool to, uint32_t *ret_place)
{
	struct txn_parent *parent =
		&txn->parents[to ? txn->items[item].to_parent : txn->items[item].parent];
	const char *name;
	int fd;

	if (!parent->has_place && parent->slot != TXN_NONE_INDEX) {
		parent->place = txn->items[parent->slot].place;
	} else if (!parent->has_place) {
		if (txn_where(txn, item, to, &fd, &name) < 0 ||
		    place_of_mount(txn, fd, &parent->place) < 0)
			return -1;
	}
	parent->has_place = true;
	*ret_place = parent->place;
	return 0;
}

static int find_places(struct txn *txn, struct error *err)
{
	for (size_t i = 0; i < txn->count; i++) {
		struct txn_item *item = &txn->items[i];
		uint32_t to;

		if (item->kind == TXN_META)
			continue;
		if (place_of_parent(txn, i, false, &item->place) < 0)
			return error_errno(err, ERROR_HOST, "cannot look at '%s'", item->path);
		if (item->kind != TXN_MOVE)
			continue;
		if (place_of_parent(txn, i, true, &to) < 0)
			return error_errno(err, ERROR_HOST, "cannot look at '%s'", item->to);
		if (to != item->place)
			return error_set(err, ERROR_INPUT, "'%s' cannot be moved to another mount",
					 item->path);
	}
	return 0;
}

/* Slots in the tree itself are journalled first: recovery could not find them otherwise. */
static void log_beside(struct txn *txn, size_t index)
{
	const struct txn_item *item = &txn->items[index];
	struct str body = STR_INIT;
	char name[TXN_NAME_SIZE];
	int fd;

	if (item->kind == TXN_META || item->kind == TXN_MOVE || *txn->places[item->place].path)
		return;
	const struct txn_parent *parent = &txn->parents[item->parent];

	if (parent->slot != TXN_NONE_INDEX || txn_slot(txn, index, false, &fd, name) < 0)
		return;
	owned(free_ptr) char *path =
		xasprintf("%s%s%s", parent->path, *parent->path ? "/" : "", name);

	body_add_text(&body, path);
	journal_add(&txn->journal, JOURNAL_BESIDE, &body);
	str_done(&body);
	strv_add(&txn->beside, path);
}

/* Makes the directory ID in BASE, which another promotion removes when it is empty, between our open and our mkdir too. */
static int make_in(const char *base, const char *id, int *ret_base_fd)
{
	for (int tries = 0; tries < TRIES; tries++) {
		owned(fd_close) int base_fd = open_own(base);

		if (base_fd < 0)
			return -1;
		if (sys_mkdirat(base_fd, id, 0700) == 0) {
			*ret_base_fd = fd_take(&base_fd);
			return 0;
		}
		if (errno != ENOENT)
			return -1;
	}
	return -1;
}

static int make_place(struct txn *txn, struct txn_place *place)
{
	owned(fd_close) int above_fd = -1;
	owned(free_ptr) char *above = NULL;

	if (!*place->path)
		return 0;
	if (str_ends(place->path, "/slot") && str_starts(place->path, txn->directory)) {
		if (sys_mkdirat(txn->dir_fd, "slot", 0700) < 0)
			return -1;
		place->fd = sys_openat(txn->dir_fd, "slot", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		return place->fd < 0 ? -1 : 0;
	}
	above = xstrndup(place->path, (size_t)(strrchr(place->path, '/') - place->path));
	if (make_in(above, txn->id, &above_fd) < 0)
		return -1;
	place->fd = sys_openat(above_fd, txn->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (place->fd < 0)
		return -1;
	txn_note_store(place->fd, txn->store_staging);
	return sys_fsync(above_fd);
}

int txn_place_all(struct txn *txn, struct error *err)
{
	bool is_simple = true;

	if (find_places(txn, err) < 0)
		return -1;
	for (size_t i = 0; i < txn->place_count; i++) {
		txn_log_place(txn, &txn->places[i]);
		is_simple &= str_starts(txn->places[i].path, txn->directory);
	}
	for (size_t i = 0; i < txn->count && !is_simple; i++)
		log_beside(txn, i);
	if (journal_write(&txn->journal, false) < 0 || (!is_simple && txn_sync_journal(txn) < 0))
		return error_errno(err, ERROR_HOST, "cannot write the journal");
	for (size_t i = 0; i < txn->place_count; i++) {
		if (make_place(txn, &txn->places[i]) < 0)
			return error_errno(err, ERROR_HOST, "cannot make '%s'",
					   txn->places[i].path);
	}
	return 0;
}
