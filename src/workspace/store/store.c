/* SPDX-License-Identifier: Apache-2.0 */
/* The store: opened, made on first use, and refused when it is not ours alone. */
#include "workspace/store/store.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLACE_MODE 0700

static int make_parents(const char *path, struct error *err)
{
	owned(free_ptr) char *copy = xstrdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, PLACE_MODE) < 0 && errno != EEXIST)
			return error_errno(err, ERROR_HOST, "cannot make '%s'", copy);
		*slash = '/';
	}
	if (mkdir(copy, PLACE_MODE) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make the store '%s'", copy);
	return 0;
}

/* A directory of another owner could change under us; one that others may enter would expose the sandboxes' contents. */
static int check_ours(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at the store '%s'", path);
	if (st.st_uid != geteuid())
		return error_set(err, ERROR_DENIED, "the store '%s' belongs to user %u, not to you",
				 path, (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return error_set(err, ERROR_DENIED,
				 "the store '%s' is open to others: chmod 700 makes it yours alone",
				 path);
	return 0;
}

/*
 * Where sandboxes are made, each directory gets a block group of its own (ext4). Beside its parent, where others make and
 * delete, every new file costs a search past what was deleted lately: 60 to 200 us instead of 7. Elsewhere it does nothing.
 */
void store_spread(int fd)
{
	owned(fd_close) int list_fd = openat(fd, "sbx", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags = 0;

	if (list_fd < 0 || ioctl(list_fd, FS_IOC_GETFLAGS, &flags) < 0 || flags & FS_TOPDIR_FL)
		return;
	flags |= FS_TOPDIR_FL;
	(void)ioctl(list_fd, FS_IOC_SETFLAGS, &flags);
}

/* VERSION comes last: a store without it was not finished, and everything is made again where it is missing. */
static int fill(int fd, struct error *err)
{
	static const char *const places[] = { "sbx", "layers", "cas", "promotions", "trash" };
	owned(free_ptr) char *version = xasprintf("aisbx-store %d\n", STORE_VERSION);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (mkdirat(fd, places[i], PLACE_MODE) < 0 && errno != EEXIST)
			return error_errno(err, ERROR_HOST, "cannot make '%s' in the store",
					   places[i]);
	}
	store_spread(fd);
	return store_replace(fd, "VERSION", version, strlen(version), true, err);
}

static int check_version(int fd, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	const char *number;
	char *end;

	if (fields_read_bytes(fd, "VERSION", 64, &text, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		return fill(fd, err);
	}
	if (!str_starts(str_cstr(&text), "aisbx-store "))
		return error_set(err, ERROR_INPUT, "VERSION: this is not a store of aisbx");
	number = str_cstr(&text) + strlen("aisbx-store ");
	long version = strtol(number, &end, 10);

	if (end == number || strcmp(end, "\n") != 0 || version < 1)
		return error_set(err, ERROR_INPUT, "VERSION: damaged");
	if (version > STORE_VERSION)
		return error_set(err, ERROR_DENIED,
				 "it was written by a newer aisbx (format %ld, this one knows %d)",
				 version, STORE_VERSION);
	return 0;
}

/* Makes the file on first use, refuses what is none. */
int store_open_lock_file(int dir_fd, const char *name, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, name,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
		return error_set(err, ERROR_INPUT, "%s: not a regular file", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "cannot open '%s'", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s: not a regular file", name);
	*ret_fd = fd_take(&fd);
	return 0;
}

int store_flock(int fd, int operation)
{
	int done;

	do {
		done = flock(fd, operation);
	} while (done < 0 && errno == EINTR);
	return done;
}

int store_open(const char *path, struct store *ret_store, struct error *err)
{
	struct store store = { .fd = -1, .lock_fd = -1 };

	store.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store.fd < 0 && errno == ENOENT) {
		if (make_parents(path, err) < 0)
			return -1;
		store.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (store.fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the store '%s'", path);
	if (check_ours(store.fd, path, err) < 0) {
		store_close(&store);
		return -1;
	}
	if (check_version(store.fd, err) < 0 || store_relock(&store, err) < 0) {
		store_close(&store);
		return error_context(err, "the store '%s'", path);
	}
	store.path = xstrdup(path);
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	fd_close(&store->lock_fd);
	fd_close(&store->fd);
	free(store->path);
	store->path = NULL;
}

void store_unlock(struct store *store)
{
	fd_close(&store->lock_fd);
}

int store_relock(struct store *store, struct error *err)
{
	if (store->lock_fd < 0 && store_open_lock_file(store->fd, "lock", &store->lock_fd, err) < 0)
		return -1;
	if (store_flock(store->lock_fd, LOCK_SH) < 0)
		return error_errno(err, ERROR_HOST, "cannot lock the store");
	return 0;
}

int store_trash(const struct store *store, int dir_fd, const char *name, struct error *err)
{
	char place[sizeof("trash/") + ID_RUN_SIZE] = "trash/";

	if (id_run(place + strlen("trash/"), err) < 0)
		return -1;
	if (renameat(dir_fd, name, store->fd, place) < 0 && errno != ENOENT)
		return error_errno(err, ERROR_HOST, "cannot move '%s' to the trash", name);
	return 0;
}

int store_write(int dir_fd, const char *name, const void *bytes, size_t len, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0 || fd_write_all(fd, bytes, len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write '%s'", name);
	return 0;
}

int store_overwrite(int dir_fd, const char *name, const void *bytes, size_t len, struct error *err)
{
	owned(fd_close) int fd = openat(
		dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0 || pwrite(fd, bytes, len, 0) != (ssize_t)len)
		return error_errno(err, ERROR_HOST, "cannot write '%s'", name);
	return 0;
}

/* The name that is written before it takes NAME's place; one of the same name is what a killed process left. */
static int draft_name(const char *name, char *draft, size_t size, struct error *err)
{
	const char *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name;
	int len = snprintf(draft, size, "%.*s.%s.%d", (int)(last - name), name, last, getpid());

	if (len < 0 || (size_t)len >= size)
		return error_set(err, ERROR_INTERNAL, "the name '%s' is too long", name);
	return 0;
}

static int sync_directory_of(int dir_fd, const char *name)
{
	const char *slash = strrchr(name, '/');
	owned(free_ptr) char *parent = slash ? xstrndup(name, (size_t)(slash - name)) : NULL;
	owned(fd_close) int fd =
		openat(dir_fd, parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

static int sync_file(int dir_fd, const char *name)
{
	owned(fd_close) int fd = file_open(dir_fd, name, O_NOFOLLOW, NULL);

	return fd < 0 ? -1 : fsync(fd);
}

int store_replace(int dir_fd, const char *name, const void *bytes, unsigned long len, bool durable,
		  struct error *err)
{
	char draft[512];

	if (draft_name(name, draft, sizeof(draft), err) < 0)
		return -1;
	if (store_write(dir_fd, draft, bytes, len, err) < 0)
		goto failed;
	if (durable && sync_file(dir_fd, draft) < 0) {
		error_errno(err, ERROR_HOST, "cannot sync '%s'", name);
		goto failed;
	}
	if (renameat(dir_fd, draft, dir_fd, name) < 0) {
		error_errno(err, ERROR_HOST, "cannot replace '%s'", name);
		goto failed;
	}
	if (durable && sync_directory_of(dir_fd, name) < 0)
		return error_errno(err, ERROR_HOST, "cannot sync '%s'", name);
	return 0;
failed:
	(void)unlinkat(dir_fd, draft, 0);
	return -1;
}

int store_boot_id(char ret_id[static 37], struct error *err)
{
	/* Read once: no process outlives its boot, and a list asks for every sandbox. */
	static char known[37];

	if (known[0] == '\0') {
		char text[64];
		ssize_t got = file_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text,
					      sizeof(text));

		if (got != 37 || text[36] != '\n')
			return error_errno(err, ERROR_HOST, "cannot read this boot's id");
		memcpy(known, text, 36);
	}
	memcpy(ret_id, known, 37);
	return 0;
}

uint64_t store_next_expiry_ms(const struct store *store)
{
	struct stat st;

	if (fstatat(store->fd, EXPIRY_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
}

/*
 * Too early a time only costs a look around, too late a one would be wrong: a file made this instant has the time "now",
 * and a time is changed under the lock a sweep holds from before it lists to after it wrote.
 */
int store_note_expiry(const struct store *store, uint64_t ms, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (store_open_lock_file(store->fd, EXPIRY_FILE, &fd, err) < 0)
		return -1;
	if (store_flock(fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "cannot lock '%s'", EXPIRY_FILE);
	if (store_next_expiry_ms(store) <= ms)
		return 0;
	return store_set_expiry(fd, ms, err);
}

int store_set_expiry(int fd, uint64_t ms, struct error *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000) * 1000000 } };

	if (futimens(fd, times) < 0)
		return error_errno(err, ERROR_HOST, "cannot note when a sandbox ends");
	return 0;
}
