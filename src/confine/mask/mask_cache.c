/* SPDX-License-Identifier: Apache-2.0 */
/* Finished mask layers, kept between the runs of a root caller. */
#include "confine/mask/mask_cache.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "confine/mask/mask_metadata.h"
#include "confine/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Then unused ones are removed. */
#define LAYERS_MAX 64
/* Two changes within one tick look like one. */
#define TICK_NS 10000000ll
/* The clocks of some filesystems only know whole seconds, or pairs of them. */
#define COARSE_TICK_NS 2000000000ll
#define GONE "gone-"

/* How closely something is looked at. */
enum stamp {
	STAMP_ITSELF,  /* whether it is still the same directory, of the same owner and mode */
	STAMP_CHANGES, /* any change, also of its entries */
	STAMP_COUNT
};

/* All that a layer depends on, as bytes. */
struct key {
	struct str bytes;
	int64_t settled_ns; /* when the last tick of all changes that went in is over */
	char last[STAMP_COUNT][PATH_MAX]; /* the directory stamped last, with all its parents */
};

static void add_text(struct key *key, const char *text)
{
	str_add_bytes(&key->bytes, text, strlen(text) + 1);
}

/* What a path is now; "nothing" is an answer, too. */
static void add_stamp(struct key *key, const char *path, enum stamp stamp)
{
	struct stat st;

	add_text(key, path);
	if (lstat(path, &st) < 0) {
		add_text(key, "-");
		return;
	}
	int64_t when = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	const uint64_t facts[] = { st.st_dev, st.st_ino, st.st_mode, st.st_uid, st.st_gid };

	str_add_bytes(&key->bytes, facts, sizeof(facts));
	if (stamp == STAMP_ITSELF)
		return;
	str_add_bytes(&key->bytes, &when, sizeof(when));
	/* A time between two hundredths of a second is exact only with a clock that ticks that often at least. */
	when += when % TICK_NS ? 2 * TICK_NS : COARSE_TICK_NS;
	if (when > key->settled_ns)
		key->settled_ns = when;
}

static bool is_stamped(const char *last, const char *path, size_t len)
{
	return strncmp(last, path, len) == 0 && (last[len] == '/' || last[len] == '\0');
}

/* The directories from TOP down to the one that PATH lies in: the layer has copies of them. */
static void add_parents(struct key *key, const char *top, const char *path, enum stamp stamp)
{
	size_t end = (size_t)(strrchr(path, '/') - path);
	size_t at = strcmp(top, "/") == 0 ? 0 : strlen(top);
	char *last = key->last[stamp];
	char part[PATH_MAX];

	if (end >= sizeof(part))
		return;
	for (;; at += 1 + strcspn(path + at + 1, "/")) {
		memcpy(part, path, at);
		part[at] = '\0';
		if (!is_stamped(last, path, at))
			add_stamp(key, at ? part : "/", stamp);
		if (at >= end)
			break;
	}
	memcpy(last, part, at + 1);
}

/* Directly below the workspace. */
static bool is_in_workspace(const struct spec *spec, const char *path)
{
	size_t len = spec->workspace ? strlen(spec->workspace) : 0;

	return len > 1 && strncmp(path, spec->workspace, len) == 0 && path[len] == '/' &&
	       !strchr(path + len + 1, '/');
}

/* The names that a pattern hides now: the directory's own stamp, which covers them elsewhere, is not in the key. */
static void add_matches(struct key *key, const char *pattern)
{
	char dir_path[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	struct dirent *entry;

	(void)snprintf(dir_path, sizeof(dir_path), "%.*s", (int)(strrchr(pattern, '/') - pattern),
		       pattern);
	owned(dir_close) DIR *dir = opendir(dir_path);

	while (dir_next(dir, &entry) > 0) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		if (mask_pattern_match(pattern, path))
			add_stamp(key, path, STAMP_ITSELF);
	}
}

/* What a directory shown as a list holds: its directories show themselves, all else is copied. */
static void add_listed(struct key *key, const struct spec *spec, const char *dir_path)
{
	owned(dir_close) DIR *dir = opendir(dir_path);
	char path[PATH_MAX + NAME_MAX + 2];
	struct dirent *entry;

	add_stamp(key, dir_path, STAMP_CHANGES);
	while (dir_next(dir, &entry) > 0) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		if (mask_shows(spec, path))
			add_stamp(key, path,
				  entry->d_type == DT_DIR ? STAMP_ITSELF : STAMP_CHANGES);
	}
}

/*
 * What is kept shows its own metadata, and its neighbours are no business of the layer. Of the workspace not even its
 * changes: nearly every run has some, and would leave a layer behind.
 */
static void add_mask(struct key *key, const struct spec *spec, const struct spec_mask *mask,
		     const char *top)
{
	bool is_workspace = spec->workspace && strcmp(mask->path, spec->workspace) == 0;

	if (mask->kind == MASK_LIST) {
		add_parents(key, top, mask->path, STAMP_ITSELF);
		add_listed(key, spec, mask->path);
		return;
	}
	if (mask->kind != MASK_KEEP && is_in_workspace(spec, mask->path)) {
		add_parents(key, top, mask->path, STAMP_ITSELF);
		if (mask->kind == MASK_GLOB)
			add_matches(key, mask->path);
		else
			add_stamp(key, mask->path, STAMP_ITSELF);
		return;
	}
	if (mask->kind != MASK_KEEP) {
		add_parents(key, top, mask->path, STAMP_CHANGES);
		return;
	}
	add_parents(key, top, mask->path, STAMP_ITSELF);
	add_stamp(key, mask->path, is_workspace ? STAMP_ITSELF : STAMP_CHANGES);
}

static bool is_settled(const struct key *key)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec > key->settled_ns;
}

bool mask_cache_name(const struct spec *spec, const struct mask_layer *like,
		     char ret_name[static SHA256_HEX_SIZE])
{
	struct key key = { .bytes = STR_INIT, .last = { "-", "-" } };
	const uint32_t ids[] = { spec->ids.uid, spec->ids.gid, spec->ids.count };

	add_text(&key, "7"); /* of the format */
	add_text(&key, like->path);
	str_add_bytes(&key.bytes, ids, sizeof(ids));
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		/* Rules above the layer decide what shows in it as well. */
		str_add_bytes(&key.bytes, &mask->kind, sizeof(mask->kind));
		add_text(&key, mask->path);
		add_text(&key, mask->content ? mask->content : "");
		if (path_is_within(mask->path, like->path) && strcmp(mask->path, like->path) != 0)
			add_mask(&key, spec, mask, like->path);
	}
	add_stamp(&key, like->path, STAMP_ITSELF);
	/* Where other mounts begin decides what is a redirect and what a mount point. */
	for (size_t i = 0; i < spec->tree_count; i++)
		add_text(&key, spec->trees[i].path);
	sha256_hex(key.bytes.data, key.bytes.len, ret_name);
	str_done(&key.bytes);
	return is_settled(&key);
}

/* A directory of root's alone on a tmpfs, or -1. */
static int open_place(const char *parent, bool make)
{
	owned(fd_close) int parent_fd =
		open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (parent_fd < 0 || fstatfs(parent_fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return -1;
	if (make)
		(void)mkdirat(parent_fd, MASK_CACHE_NAME, 0700);
	int fd =
		openat(parent_fd, MASK_CACHE_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* Others can make names in /dev/shm: ours counts only if it is root's and closed. */
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 0077)))
		fd_close(&fd);
	return fd;
}

static int open_cache(void)
{
	int fd = open_place("/run", true);

	return fd >= 0 ? fd : open_place("/dev/shm", true);
}

static size_t count_layers(int cache_fd)
{
	owned(dir_close) DIR *dir = dir_open(cache_fd, ".");
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		return LAYERS_MAX;
	while (dir_next(dir, &entry) > 0)
		count += strlen(entry->d_name) == SHA256_HEX_SIZE - 1;
	return count;
}

/* Under another name first: a removal that is cut short leaves nothing that a run would take for whole. */
static bool remove_renamed(int cache_fd, const char *name)
{
	char gone[sizeof(GONE) + NAME_MAX];

	(void)snprintf(gone, sizeof(gone), GONE "%s", name);
	return renameat2(cache_fd, name, cache_fd, gone, RENAME_NOREPLACE) == 0 &&
	       tree_remove(cache_fd, gone) == 0;
}

/* Opens a layer and locks it; -1 when that fails, or when the layer lost its name before it was locked. */
static int open_locked(int cache_fd, const char *name, int lock)
{
	owned(fd_close) int fd =
		openat(cache_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat held, named;

	if (fd < 0 || flock(fd, lock | LOCK_NB) < 0 || fstat(fd, &held) < 0 ||
	    fstatat(cache_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return held.st_dev == named.st_dev && held.st_ino == named.st_ino ? fd_take(&fd) : -1;
}

/* Every sandbox holds a shared lock on its layer: one that can be locked exclusively is unused. */
static void remove_unused(int cache_fd)
{
	owned(dir_close) DIR *dir = dir_open(cache_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (strlen(entry->d_name) != SHA256_HEX_SIZE - 1)
			continue;
		owned(fd_close) int fd = open_locked(cache_fd, entry->d_name, LOCK_EX);

		if (fd >= 0)
			(void)remove_renamed(cache_fd, entry->d_name);
	}
}

static bool remove_draft(int cache_fd, const char *name)
{
	if (str_starts(name, GONE))
		return tree_remove(cache_fd, name) == 0;
	return owner_is_gone(name) && remove_renamed(cache_fd, name);
}

/* Drafts of killed processes; PARENT, if not NULL, prefixes the names of removed ones in the report. */
static void remove_drafts(int cache_fd, const char *parent, struct strv *removed)
{
	owned(dir_close) DIR *dir = dir_open(cache_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (remove_draft(cache_fd, entry->d_name) && parent)
			strv_addf(removed, "%s/" MASK_CACHE_NAME "/%s", parent, entry->d_name);
	}
}

/* The draft is this run's alone: no other can write to it, or remove it before its name shows that we are gone. */
static int make_layer(const struct spec *spec, const struct mask_layer *like, int cache_fd,
		      const char *name)
{
	/* Real owners: users of the layer mount it through the id map of the sandbox. */
	const struct spec_ids real = { .uid = spec->ids.uid,
				       .gid = spec->ids.gid,
				       .count = spec->ids.count };
	struct mask_layer layer = { -1, like->path, like->user_xattr, &real };
	struct error ignored;
	char draft[OWNER_NAME_SIZE];

	owner_name(spec->run_id, draft);
	if (mkdirat(cache_fd, draft, 0755) < 0)
		return -1;
	layer.dir_fd = openat(cache_fd, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (layer.dir_fd < 0 || flock(layer.dir_fd, LOCK_SH | LOCK_NB) < 0 ||
	    mask_copy_metadata(&layer, layer.path, ".", &ignored) < 0 ||
	    mask_build(spec, &layer, &ignored) < 0 ||
	    renameat2(cache_fd, draft, cache_fd, name, RENAME_NOREPLACE) < 0) {
		fd_close(&layer.dir_fd);
		(void)tree_remove(cache_fd, draft);
	}
	return layer.dir_fd;
}

/* The workspace changes between runs, and with a copy of it in the layer the copy's times are seen. */
static void renew_times(const struct spec *spec, const struct mask_layer *like, int dir_fd)
{
	const struct mask_layer layer = { dir_fd, like->path, like->user_xattr, like->ids };
	const char *below = NULL;
	struct stat now, copy;

	if (!spec->workspace || !path_is_within(spec->workspace, like->path))
		return;
	below = spec->workspace + strlen(like->path);
	below += strspn(below, "/");
	if (lstat(spec->workspace, &now) == 0 && *below &&
	    fstatat(dir_fd, below, &copy, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (now.st_mtim.tv_sec != copy.st_mtim.tv_sec ||
	     now.st_mtim.tv_nsec != copy.st_mtim.tv_nsec))
		mask_copy_times(&layer, &now, below);
}

/* Copies of the files in HOME itself would make another layer whenever one of them changes; those further down seldom do. */
static bool lists_home(const struct spec *spec)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind == MASK_LIST &&
		    strcmp(spec->masks[i].path, spec->home) == 0)
			return true;
	}
	return false;
}

int mask_cache_open(const struct spec *spec, const struct mask_layer *like)
{
	owned(fd_close) int cache_fd = -1;
	char name[SHA256_HEX_SIZE];
	bool settled;
	int fd;

	/* Binds add mount points that depend on their sources: seldom, and not worth the trouble. */
	if (spec->bind_count > 0 || !spec->run_id || lists_home(spec))
		return -1;
	cache_fd = open_cache();
	if (cache_fd < 0)
		return -1;
	settled = mask_cache_name(spec, like, name);
	fd = open_locked(cache_fd, name, LOCK_SH);
	if (fd >= 0)
		renew_times(spec, like, fd);
	if (fd >= 0 || !settled)
		return fd;
	remove_drafts(cache_fd, NULL, NULL);
	if (count_layers(cache_fd) >= LAYERS_MAX)
		remove_unused(cache_fd);
	return make_layer(spec, like, cache_fd, name);
}

void mask_cache_sweep(struct strv *removed)
{
	static const char *const parents[] = { "/run", "/dev/shm" };

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		owned(fd_close) int cache_fd = open_place(parents[i], false);

		if (cache_fd >= 0)
			remove_drafts(cache_fd, parents[i], removed);
	}
}
