/* Finished mask layers, kept between the runs of a root caller. */
#include "confine/mask_cache.h"

#include "base/own.h"
#include "spec/clean_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Until the next boot; beyond that every run makes its own. */
#define LAYERS_MAX 200
/* Two changes within one tick of an older kernel's clock look like one. */
#define SETTLED_NS 50000000ll

struct key {
	uint64_t low, high;
	int64_t newest_ns; /* of all the stamps that went in */
};

static void add_bytes(struct key *key, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++) {
		key->low = (key->low ^ at[i]) * 0x100000001b3ull;
		key->high = (key->high + at[i]) * 0x9e3779b97f4a7c15ull;
		key->high ^= key->high >> 29;
	}
}

static void add_text(struct key *key, const char *text)
{
	add_bytes(key, text, strlen(text) + 1);
}

/* What a path is now; "nothing" is an answer, too. */
static void add_stamp(struct key *key, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		add_text(key, "-");
		return;
	}
	int64_t when = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	uint64_t facts[] = { st.st_dev, st.st_ino, st.st_mode, (uint64_t)when };

	add_bytes(key, facts, sizeof(facts));
	if (when > key->newest_ns)
		key->newest_ns = when;
}

/* The directory that MASK lies in, unless it is the one stamped last. */
static void add_parent(struct key *key, const struct spec_mask *mask, char last[PATH_MAX])
{
	size_t len = (size_t)(strrchr(mask->path, '/') - mask->path);

	if (len >= PATH_MAX ||
	    (strncmp(last, mask->path, len) == 0 && last[len] == '\0' && len > 0))
		return;
	memcpy(last, mask->path, len);
	last[len] = '\0';
	add_stamp(key, len ? last : "/");
}

static void make_key(const struct spec *spec, const struct mask_layer *like, struct key *key)
{
	char last[PATH_MAX] = "";

	*key = (struct key){ 0xcbf29ce484222325ull, 0x84222325cbf29ce4ull, 0 };
	add_text(key, "2"); /* of the format */
	add_text(key, like->path);
	add_bytes(key, &spec->ids.uid, sizeof(spec->ids.uid));
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (!path_is_within(mask->path, like->path))
			continue;
		add_bytes(key, &mask->kind, sizeof(mask->kind));
		add_text(key, mask->path);
		if (mask->content)
			add_text(key, mask->content);
		/* What is kept shows its own metadata. Its neighbours are no business of the layer. */
		if (mask->kind == MASK_KEEP)
			add_stamp(key, mask->path);
		if (!spec->workspace || strcmp(mask->path, spec->workspace) != 0)
			add_parent(key, mask, last);
	}
	/* Where other mounts begin decides what is a redirect and what a mount point. */
	for (size_t i = 0; i < spec->tree_count; i++)
		add_text(key, spec->trees[i].path);
}

static bool is_settled(const struct key *key)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - key->newest_ns > SETTLED_NS;
}

/* A directory of root's alone on a tmpfs, or -1. */
static int open_place(const char *parent, const char *name)
{
	owned(fd_close) int parent_fd =
		open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (parent_fd < 0 || fstatfs(parent_fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return -1;
	(void)mkdirat(parent_fd, name, 0700);
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* Others can make names in /dev/shm: ours counts only if it is root's and closed. */
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 0077)))
		fd_close(&fd);
	return fd;
}

static int open_cache(void)
{
	int fd = open_place("/run", "aisbx-masks");

	return fd >= 0 ? fd : open_place("/dev/shm", "aisbx-masks");
}

static size_t count_entries(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;

	if (!dir)
		return LAYERS_MAX;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Only ever for a layer that has not got its name: nobody else has seen it. */
static void remove_tree(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir) {
		for (struct dirent *entry; (entry = readdir(dir));) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
				remove_tree(dirfd(dir), entry->d_name);
		}
		closedir(dir);
	}
	(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static int make_layer(const struct spec *spec, const struct mask_layer *like, int cache_fd,
		      const char *name)
{
	/* Real owners: whoever uses the layer shows it through the id map of the sandbox. */
	const struct spec_ids real = { .uid = spec->ids.uid,
				       .gid = spec->ids.gid,
				       .count = spec->ids.count };
	struct mask_layer layer = { -1, like->path, like->user_xattr, &real };
	struct error ignored;
	char draft[40];

	(void)snprintf(draft, sizeof(draft), "draft-%d", getpid());
	remove_tree(cache_fd, draft);
	if (mkdirat(cache_fd, draft, 0755) < 0)
		return -1;
	layer.dir_fd = openat(cache_fd, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (layer.dir_fd < 0 || mask_copy_metadata(&layer, layer.path, ".", &ignored) < 0 ||
	    mask_build(spec, &layer, &ignored) < 0 ||
	    renameat2(cache_fd, draft, cache_fd, name, RENAME_NOREPLACE) < 0) {
		fd_close(&layer.dir_fd);
		remove_tree(cache_fd, draft);
	}
	return layer.dir_fd;
}

int mask_cache_open(const struct spec *spec, const struct mask_layer *like)
{
	owned(fd_close) int cache_fd = -1;
	struct key key;
	char name[40];
	int fd;

	/* Binds add mount points that depend on their sources: seldom, and not worth the trouble. */
	if (spec->bind_count > 0)
		return -1;
	cache_fd = open_cache();
	if (cache_fd < 0)
		return -1;
	make_key(spec, like, &key);
	(void)snprintf(name, sizeof(name), "%016llx%016llx", (unsigned long long)key.high,
		       (unsigned long long)key.low);
	fd = openat(cache_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || !is_settled(&key) || count_entries(cache_fd) >= LAYERS_MAX)
		return fd;
	return make_layer(spec, like, cache_fd, name);
}
