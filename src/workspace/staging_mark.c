/* Whose a directory of staging outside the store is, and removing what has nobody any more. */
#include "workspace/staging_mark.h"

#include "base/clean_path.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/own.h"
#include "workspace/handle.h"
#include "workspace/layer.h"
#include "workspace/store.h"
#include "workspace/sys.h"
#include "workspace/txn.h"
#include "workspace/txn_lock.h"
#include "workspace/txn_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MARK "store"
#define MARK_VERSION 1u

struct mark {
	uint32_t version;
	char boot_id[37];
	uint64_t dev;
	unsigned char fsid[sizeof(fsid_t)];
	bool has_handle;
	struct handle handle;
	char path[PATH_MAX]; /* of the store */
};

enum claim {
	CLAIM_KEPT,	 /* by its store, or by somebody who works on it */
	CLAIM_ABANDONED, /* its store is gone, or does not know it */
	CLAIM_AWAY,	 /* nobody can tell: the store's filesystem is not there */
};

/* What tells the filesystem that FD is on from others. */
static bool read_filesystem(int fd, struct mark *ret_mark)
{
	struct statfs about;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &about) < 0)
		return false;
	ret_mark->dev = st.st_dev;
	memcpy(ret_mark->fsid, &about.f_fsid, sizeof(ret_mark->fsid));
	return true;
}

void staging_mark(int dir_fd, const char *store_staging)
{
	const char *end = store_staging ? strrchr(store_staging, '/') : NULL;
	owned(free_ptr) char *store =
		end ? xstrndup(store_staging, (size_t)(end - store_staging)) : NULL;
	owned(fd_close) int store_fd = store ? open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct mark mark;
	struct error ignored;

	/* All of it is written. */
	memset(&mark, 0, sizeof(mark));
	mark.version = MARK_VERSION;
	if (!store || strlen(store) >= sizeof(mark.path) || !read_filesystem(store_fd, &mark) ||
	    store_boot_id(mark.boot_id, &ignored) < 0)
		return;
	memcpy(mark.path, store, strlen(store));
	mark.has_handle = handle_read(store_fd, ".", &mark.handle);
	owned(fd_close) int fd =
		sys_openat(dir_fd, MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);

	if (fd >= 0)
		(void)sys_write_all(fd, &mark, sizeof(mark));
}

static bool read_mark(int dir_fd, struct mark *ret_mark)
{
	owned(fd_close) int fd = openat(dir_fd, MARK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && txn_is_private(fd) &&
	       read(fd, ret_mark, sizeof(*ret_mark)) == (ssize_t)sizeof(*ret_mark) &&
	       ret_mark->version == MARK_VERSION &&
	       memchr(ret_mark->path, '\0', sizeof(ret_mark->path)) &&
	       memchr(ret_mark->boot_id, '\0', sizeof(ret_mark->boot_id)) &&
	       ret_mark->handle.len <= HANDLE_MAX && path_is_clean(ret_mark->path);
}

/* The nearest directory on the way to PATH that is there. */
static int open_nearest(const char *path)
{
	owned(free_ptr) char *at = xstrdup(path);

	for (;;) {
		int fd = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(at, '/');

		if (fd >= 0 || errno != ENOENT || !slash || !at[1])
			return fd;
		slash[slash == at] = '\0';
	}
}

/* Device numbers say which within a boot, and what the filesystem calls itself beyond that. */
static bool is_same_filesystem(const struct mark *mark, int fd)
{
	static const unsigned char unknown[sizeof(mark->fsid)];
	struct mark here;
	char boot_id[37];
	struct error ignored;

	if (!read_filesystem(fd, &here) || store_boot_id(boot_id, &ignored) < 0)
		return false;
	if (strcmp(boot_id, mark->boot_id) == 0)
		return here.dev == mark->dev;
	return memcmp(here.fsid, mark->fsid, sizeof(here.fsid)) == 0 &&
	       memcmp(here.fsid, unknown, sizeof(here.fsid)) != 0;
}

/* Whether the store STORE_FD knows promotion ID; one that cannot be asked does. */
static bool is_known(int store_fd, const char *id)
{
	owned(free_ptr) char *record = xasprintf("promotions/%s", id);

	return faccessat(store_fd, record, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* The store is not where it was, or does not know ID. Moved, it still has its number, and only root can look for that. */
static enum claim seek(const struct mark *mark, int near_fd, const char *id)
{
	owned(fd_close) int fd = mark->has_handle ? handle_open(near_fd, &mark->handle) : -1;
	struct stat st;

	if (!mark->has_handle)
		return CLAIM_AWAY;
	if (fd < 0)
		return errno == ESTALE || errno == ENOENT ? CLAIM_ABANDONED : CLAIM_AWAY;
	if (fstat(fd, &st) < 0)
		return CLAIM_AWAY;
	return st.st_nlink > 0 && is_known(fd, id) ? CLAIM_KEPT : CLAIM_ABANDONED;
}

static enum claim claim_of(const struct mark *mark, const char *id)
{
	owned(fd_close) int near_fd = open_nearest(mark->path);
	owned(fd_close) int store_fd = open(mark->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (store_fd >= 0 && is_known(store_fd, id))
		return CLAIM_KEPT;
	return is_same_filesystem(mark, near_fd) ? seek(mark, near_fd, id) : CLAIM_AWAY;
}

/* Killed in the middle, it is finished or reversed first: what it keeps may be all there is of a file. */
static bool clear(int base_fd, const char *directory, const char *id, struct strv *left)
{
	owned(free_ptr) char *journal = xasprintf("%s/journal", directory);
	enum txn_state state = TXN_NONE;
	struct error err = { .code = ERROR_NONE };

	if (access(journal, F_OK) < 0)
		return errno == ENOENT && sys_remove_tree(base_fd, id) == 0;
	if (txn_recover(directory, &state, &err) == 0 && state != TXN_STUCK &&
	    (txn_forget(directory, &err) == 0 || err.code == ERROR_NOT_FOUND))
		return true;
	strv_addf(left, "%s: its store is gone, and it cannot be finished: %s", directory,
		  err.text[0] ? err.text : "both versions are kept");
	return false;
}

static void sweep_one(int base_fd, const char *base, const char *id, struct strv *removed,
		      struct strv *left)
{
	owned(fd_close) int fd =
		openat(base_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(free_ptr) char *directory = xasprintf("%s/%s", base, id);
	struct mark mark;

	if (fd < 0 || !txn_is_private(fd) || !read_mark(fd, &mark) || !txn_lock_own(fd))
		return;
	/* Given up before it is worked on: that takes the lock for itself. */
	fd_close(&fd);
	switch (claim_of(&mark, id)) {
	case CLAIM_KEPT:
		break;
	case CLAIM_ABANDONED:
		if (clear(base_fd, directory, id, left))
			strv_add(removed, directory);
		break;
	case CLAIM_AWAY:
		strv_addf(left, "%s: of the store %s, which is not there now", directory,
			  mark.path);
		break;
	}
}

static bool is_id(const char *name)
{
	return strlen(name) == LAYER_ID_SIZE - 1 && id_run_epoch_ms(name) != 0;
}

void staging_sweep(const struct strv *bases, struct strv *removed, struct strv *left)
{
	for (size_t i = 0; i < bases->count; i++) {
		const char *base = bases->items[i];
		owned(fd_close) int fd =
			open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		owned(dir_close) DIR *dir =
			fd >= 0 && txn_is_private(fd) ? dir_open(fd, ".") : NULL;
		owned(strv_done) struct strv ids = STRV_INIT;
		struct dirent *entry;

		while (dir && dir_next(dir, &entry) > 0) {
			if (is_id(entry->d_name))
				strv_add(&ids, entry->d_name);
		}
		for (size_t k = 0; k < ids.count; k++)
			sweep_one(fd, base, ids.items[k], removed, left);
		if (ids.count > 0)
			(void)unlinkat(AT_FDCWD, base, AT_REMOVEDIR);
	}
}
