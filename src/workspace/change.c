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
	/* Host path of what the present directory was before it was renamed, with its parent or itself; else NULL. */
	const char *origin;
	bool is_cut; /* nothing of the host's shows in the present directory: it, or one above it, is opaque */
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
	else if (scan->list)
		scan->is_partial = true;
}

/* A path that names are put behind and taken off again. */
struct growing {
	char text[PATH_MAX];
	size_t len;
};

static bool grow(struct growing *path, const char *name)
{
	int used = snprintf(path->text + path->len, PATH_MAX - path->len, "/%s", name);

	if (used < 0 || (size_t)used >= PATH_MAX - path->len) {
		path->text[path->len] = '\0';
		return false;
	}
	path->len += (size_t)used;
	return true;
}

static void cut(struct growing *path, size_t len)
{
	path->len = len;
	path->text[len] = '\0';
}

static void set(struct growing *path, const char *text)
{
	path->len = 0;
	int used = snprintf(path->text, PATH_MAX, "%s", text);

	path->len = used < PATH_MAX ? (size_t)used : PATH_MAX - 1;
}

/* Files of the host that are counted, and the paths they are counted as. */
struct host_tree {
	struct walk *walk;
	char letter;
	struct growing host, shown;
	unsigned depth;
};

static void count_host_tree(struct host_tree *tree);

static void count_host_entry(struct host_tree *tree, const char *name)
{
	size_t host_len = tree->host.len, shown_len = tree->shown.len;
	struct stat st;

	if (grow(&tree->host, name) && grow(&tree->shown, name) &&
	    lstat(tree->host.text, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			count_host_tree(tree);
		else
			count(tree->walk, tree->letter, tree->shown.text);
	}
	cut(&tree->host, host_len);
	cut(&tree->shown, shown_len);
}

/* Counts every file below a directory of the host that the sandbox removed or moved. */
static void count_host_tree(struct host_tree *tree)
{
	DIR *dir = tree->depth < DEPTH_MAX ? opendir(tree->host.text) : NULL;

	if (!dir)
		return;
	tree->depth++;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++tree->walk->scan->looked_at > ENTRIES_MAX) {
			tree->walk->scan->is_partial = true;
			break;
		}
		count_host_entry(tree, entry->d_name);
	}
	tree->depth--;
	closedir(dir);
}

/* A tree to count below HOST under the names below SHOWN. The caller frees it. */
static struct host_tree *host_tree_new(struct walk *walk, char letter, const char *host,
				       const char *shown)
{
	struct host_tree *tree = xcalloc(1, sizeof(*tree));

	tree->walk = walk;
	tree->letter = letter;
	set(&tree->host, host);
	set(&tree->shown, shown);
	return tree;
}

static void count_removed_tree(struct walk *walk, const char *path)
{
	owned(free_ptr) struct host_tree *tree = host_tree_new(walk, 'D', path, path);

	count_host_tree(tree);
}

/*
 * Entries of a host directory that the directory FD of the layer says nothing about: hidden by an opaque one ('D'), or
 * come along with a renamed one ('A').
 */
static void count_unmentioned(struct walk *walk, int fd, char letter, const char *host,
			      const char *shown)
{
	owned(free_ptr) struct host_tree *tree = host_tree_new(walk, letter, host, shown);
	DIR *dir = opendir(host);

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    faccessat(fd, entry->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			count_host_entry(tree, entry->d_name);
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
	owned(fd_close) int ours =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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
			count_removed_tree(walk, path);
		else if (exists)
			count(walk, 'D', path);
		return;
	}
	if (exists && S_ISDIR(lower.st_mode))
		count_removed_tree(walk, path);
	if (!exists || S_ISDIR(lower.st_mode))
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

/* Where a renamed directory was; NULL when it was not renamed. A name alone stands for one beside it. */
static char *find_origin(const struct walk *walk, int fd, const char *path)
{
	const char *lower = walk->scan->lower, *slash = strrchr(walk->path, '/');
	char value[PATH_MAX];
	/* A plain user's layer has none; what stands there would be the payload's. */
	ssize_t len = walk->scan->user_xattr
			      ? -1
			      : overlay_xattr(walk, fd, "redirect", value, sizeof(value) - 1);

	if (len > 0) {
		value[len] = '\0';
		if (value[0] == '/')
			return xasprintf("%s%s", strcmp(lower, "/") == 0 ? "" : lower, value);
		if (walk->origin)
			return xasprintf("%s/%s", walk->origin, value);
		return xasprintf("%.*s/%s", (int)(strrchr(path, '/') - path), path, value);
	}
	return walk->origin ? xasprintf("%s/%s", walk->origin, slash ? slash + 1 : walk->path)
			    : NULL;
}

/* What the layer's directory hides of the host's, and what it brought along. */
static char *count_lower(struct walk *walk, int fd)
{
	owned(free_ptr) char *origin = NULL;
	char path[PATH_MAX], value[8];
	struct stat st;

	if (host_path(walk, path) < 0)
		return NULL;
	if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		count(walk, 'D', path);
	if (overlay_xattr(walk, fd, "opaque", value, sizeof(value)) == 1 && value[0] == 'y')
		walk->is_cut = true;
	else
		origin = find_origin(walk, fd, path);
	/* Only the topmost of new directories is marked opaque; a renamed one shows where it came from again. */
	if (origin)
		walk->is_cut = false;
	if (walk->is_cut || origin)
		count_unmentioned(walk, fd, 'D', path, path);
	if (origin)
		count_unmentioned(walk, fd, 'A', origin, path);
	return ptr_take(&origin);
}

static void enter_directory(struct walk *walk, int dir_fd, const char *name)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *outer = walk->origin;
	bool was_cut = walk->is_cut;

	if (fd < 0 || walk->depth >= DEPTH_MAX) {
		walk->scan->is_partial = true;
		return;
	}
	owned(free_ptr) char *origin = count_lower(walk, fd);
	walk->origin = origin;
	walk->depth++;
	walk_directory(walk, fd);
	walk->depth--;
	walk->origin = outer;
	walk->is_cut = was_cut;
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
	owned(fd_close) int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		walk->scan->is_partial = true;
		return;
	}
	(void)fd_take(&copy);
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
