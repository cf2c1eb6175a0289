/* SPDX-License-Identifier: Apache-2.0 */
/* What an object is: inode, birth, size, times; and the sum over all that is below a directory. */
#include "workspace/disk/identity.h"

#include "base/file/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/stat.h>

static int64_t nanoseconds(const struct statx_timestamp *stamp)
{
	return stamp->tv_sec * 1000000000 + stamp->tv_nsec;
}

static void from_statx(const struct statx *st, struct txn_identity *ret_identity)
{
	*ret_identity = (struct txn_identity){
		.exists = true,
		.dev = makedev(st->stx_dev_major, st->stx_dev_minor),
		.ino = st->stx_ino,
		.btime_ns = st->stx_mask & STATX_BTIME ? (uint64_t)nanoseconds(&st->stx_btime) : 0,
		.size = S_ISCHR(st->stx_mode) || S_ISBLK(st->stx_mode)
				? makedev(st->stx_rdev_major, st->stx_rdev_minor)
				: st->stx_size,
		.mtime_ns = nanoseconds(&st->stx_mtime),
		.ctime_ns = nanoseconds(&st->stx_ctime),
		.mode = st->stx_mode,
		.uid = st->stx_uid,
		.gid = st->stx_gid,
	};
}

bool view_is_nothing(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ENAMETOOLONG ||
	       errnum == EACCES || errnum == ELOOP || errnum == EXDEV || errnum == ESTALE;
}

int txn_identity_of(int dir_fd, const char *name, struct txn_identity *ret_identity)
{
	struct statx st;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);

	*ret_identity = (struct txn_identity){ 0 };
	if (statx(dir_fd, name, flags, STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return view_is_nothing(errno) ? 0 : -1;
	from_statx(&st, ret_identity);
	return 0;
}

/* FNV-1a, then mixed, so that a sum over many tells which. */
static uint64_t hash(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		seed = (seed ^ at[i]) * 0x100000001b3u;
	return seed;
}

static int add_entry(const struct walk_entry *entry, void *cookie)
{
	struct txn_identity id;
	uint64_t *sum = cookie, mixed = hash(0xcbf29ce484222325u, entry->path, strlen(entry->path));

	from_statx(entry->st, &id);
	/*
	 * Directories: what is in them is summed itself, and their size means nothing; nor do their times, which a
	 * later transaction moves even when it is undone.
	 */
	bool is_directory = S_ISDIR(id.mode);
	uint64_t fields[] = { id.ino, is_directory ? 0 : id.size,
			      is_directory ? 0 : (uint64_t)id.mtime_ns, id.mode,
			      (uint64_t)id.uid << 32 | id.gid };

	mixed = hash(mixed, fields, sizeof(fields));
	mixed ^= mixed >> 32;
	mixed *= 0x9e3779b97f4a7c15u;
	*sum += mixed ^ mixed >> 29;
	return 0;
}

int txn_tree_of(int dir_fd, const char *name, uint64_t *ret_tree)
{
	uint64_t sum = 1;
	struct walk walk = { .purpose = WALK_TXN, .visit = add_entry, .cookie = &sum };

	if (walk_tree(&walk, dir_fd, name) < 0)
		return -1;
	*ret_tree = sum ? sum : 1;
	return 0;
}
