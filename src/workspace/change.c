/*
 * What a sandbox changed: walking the writable layer of an overlay.
 *
 * A whiteout (character device 0:0) is a deletion; an opaque directory hides the host's of that name; a redirect says
 * where a renamed directory came from. Everything else in the layer is a file that was made or copied up. The walk
 * keeps one descriptor per level, so its depth is bounded by us and not by the payload.
 */
#include "workspace/change.h"

#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEPTH_MAX 128
#define ENTRIES_MAX 1000000u
#define LIST_MAX 10000u
#define COMPARE_MAX (64u << 20)

struct walk {
	struct change_scan *scan;
	char path[PATH_MAX]; /* below the layer, without a leading slash */
	size_t len;
	unsigned depth;
};

/* Places that are made anew in every sandbox are nobody's change. */
static bool is_scratch(const char *path)
{
	static const char *const places[] = { "/tmp", "/run", "/var/tmp", "/dev", "/proc", "/sys" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t len = strlen(places[i]);

		if (strncmp(path, places[i], len) == 0 && (path[len] == '/' || path[len] == '\0'))
			return true;
	}
	return false;
}

static const char *below_workspace(const struct change_scan *scan, const char *path)
{
	size_t len = scan->workspace ? strlen(scan->workspace) : 0;

	if (len == 0 || strncmp(path, scan->workspace, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

static int host_path(const struct walk *walk, char out[PATH_MAX])
{
	const char *lower = walk->scan->lower;
	int len = snprintf(out, PATH_MAX, "%s%s%s", strcmp(lower, "/") == 0 ? "" : lower,
			   walk->len ? "/" : "", walk->path);

	return len > 0 && len < PATH_MAX ? 0 : -1;
}

static void count(struct walk *walk, char letter, const char *path)
{
	struct change_scan *scan = walk->scan;
	const char *relative = below_workspace(scan, path);
	struct change_tally *tally = relative ? &scan->inside : &scan->outside;

	if (!relative && is_scratch(path))
		return;
	if (letter == 'A')
		tally->added++;
	else if (letter == 'M')
		tally->modified++;
	else
		tally->deleted++;
	if (scan->list && scan->list->count < LIST_MAX)
		strv_addf(scan->list, "%c\t%s", letter, relative ? relative : path);
}

/* Counts every file below a directory of the host that the sandbox removed, or moved (letter A). */
static void count_host_tree(struct walk *walk, char letter, char *path, unsigned depth)
{
	DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
	size_t len = strlen(path);

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++walk->scan->looked_at > ENTRIES_MAX) {
			walk->scan->is_partial = true;
			break;
		}
		int used = snprintf(path + len, PATH_MAX - len, "/%s", entry->d_name);

		if (used < 0 || (size_t)used >= PATH_MAX - len || lstat(path, &st) < 0) {
			path[len] = '\0';
			continue;
		}
		if (S_ISDIR(st.st_mode))
			count_host_tree(walk, letter, path, depth + 1);
		else
			count(walk, letter, path);
		path[len] = '\0';
	}
	closedir(dir);
}

/* Reads until SIZE bytes are there or the file ends. */
static ssize_t read_block(int fd, char *ret_block, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = read(fd, ret_block + have, size - have);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static bool is_equal_content(int upper, int lower)
{
	char ours[16384], theirs[16384];
	ssize_t got;

	do {
		got = read_block(upper, ours, sizeof(ours));
		if (got < 0 || read_block(lower, theirs, sizeof(theirs)) != got ||
		    memcmp(ours, theirs, (size_t)got) != 0)
			return false;
	} while (got > 0);
	return true;
}

/* Opened for writing but never changed: copied up, equal. */
static bool is_unchanged(int dir_fd, const char *name, const struct stat *upper, const char *path,
			 const struct stat *lower)
{
	if (S_ISLNK(upper->st_mode) && S_ISLNK(lower->st_mode)) {
		char ours[PATH_MAX], theirs[PATH_MAX];
		ssize_t len = readlinkat(dir_fd, name, ours, sizeof(ours));

		return len >= 0 && readlink(path, theirs, sizeof(theirs)) == len &&
		       memcmp(ours, theirs, (size_t)len) == 0;
	}
	if (upper->st_mode != lower->st_mode || upper->st_size != lower->st_size ||
	    !S_ISREG(upper->st_mode) || upper->st_size > (off_t)COMPARE_MAX)
		return false;
	owned(fd_close) int ours = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	owned(fd_close) int theirs = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return ours >= 0 && theirs >= 0 && is_equal_content(ours, theirs);
}

static void look_at_file(struct walk *walk, int dir_fd, const char *name, const struct stat *upper)
{
	char path[PATH_MAX];
	struct stat lower;

	if (host_path(walk, path) < 0)
		return;
	bool exists = lstat(path, &lower) == 0;

	if (S_ISCHR(upper->st_mode) && upper->st_rdev == makedev(0, 0)) {
		if (exists && S_ISDIR(lower.st_mode))
			count_host_tree(walk, 'D', path, 0);
		else if (exists)
			count(walk, 'D', path);
		return;
	}
	if (!exists)
		count(walk, 'A', path);
	else if (!is_unchanged(dir_fd, name, upper, path, &lower))
		count(walk, 'M', path);
}

static ssize_t overlay_xattr(const struct walk *walk, int fd, const char *key, char *value,
			     size_t size)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s.overlay.%s",
		       walk->scan->user_xattr ? "user" : "trusted", key);
	return fgetxattr(fd, name, value, size);
}

static void walk_directory(struct walk *walk, int fd);

/* The host's files that an opaque directory hides, less those that stand in the layer again. */
static void count_hidden(struct walk *walk, int fd)
{
	char path[PATH_MAX];
	size_t base;
	DIR *dir;

	if (host_path(walk, path) < 0 || !(dir = opendir(path)))
		return;
	base = strlen(path);
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat st;
		int used = snprintf(path + base, PATH_MAX - base, "/%s", entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    used < 0 || (size_t)used >= PATH_MAX - base || lstat(path, &st) < 0 ||
		    faccessat(fd, entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		if (S_ISDIR(st.st_mode))
			count_host_tree(walk, 'D', path, 0);
		else
			count(walk, 'D', path);
	}
	closedir(dir);
}

static void enter_directory(struct walk *walk, int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char value[PATH_MAX];
	ssize_t len;

	if (fd < 0 || walk->depth >= DEPTH_MAX) {
		walk->scan->is_partial = true;
		return;
	}
	if (overlay_xattr(walk, fd, "opaque", value, sizeof(value)) == 1 && value[0] == 'y')
		count_hidden(walk, fd);
	len = overlay_xattr(walk, fd, "redirect", value, sizeof(value) - 1);
	if (len > 0 && value[0] == '/') {
		value[len] = '\0';
		count_host_tree(walk, 'A', value, 0);
	}
	walk->depth++;
	walk_directory(walk, fd);
	walk->depth--;
}

static void look_at(struct walk *walk, int dir_fd, const char *name)
{
	size_t before = walk->len;
	int used =
		snprintf(walk->path + before, PATH_MAX - before, "%s%s", before ? "/" : "", name);
	struct stat st;

	if (used < 0 || (size_t)used >= PATH_MAX - before) {
		walk->scan->is_partial = true;
	} else if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		walk->len += (size_t)used;
		if (S_ISDIR(st.st_mode))
			enter_directory(walk, dir_fd, name);
		else
			look_at_file(walk, dir_fd, name, &st);
	}
	walk->len = before;
	walk->path[before] = '\0';
}

static void walk_directory(struct walk *walk, int fd)
{
	DIR *dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++walk->scan->looked_at > ENTRIES_MAX) {
			walk->scan->is_partial = true;
			break;
		}
		look_at(walk, fd, entry->d_name);
	}
	closedir(dir);
}

void change_scan_layer(struct change_scan *scan, int upper_fd)
{
	struct walk *walk = xcalloc(1, sizeof(*walk));

	walk->scan = scan;
	walk_directory(walk, upper_fd);
	free(walk);
}
