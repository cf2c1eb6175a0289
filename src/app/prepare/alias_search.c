/* SPDX-License-Identifier: Apache-2.0 */
/* Hard links to hidden files: which files have some, and where those are seen. */
#include "app/prepare/alias_search.h"

#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "plan/mask_list.h"
#include "spec/mask.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MAX 50000u
#define SEARCH_NS UINT64_C(20000000)
#define DEPTH_MAX 128u
/* The clock is asked once in so many names. */
#define CLOCK_NAMES 256u
#define FILTER_WORDS 64u

/* A hidden file with several links. */
struct target {
	dev_t dev;
	ino_t ino;
	nlink_t missing; /* links whose names are not known yet */
	struct strv names;
};

struct search {
	const struct host *host;
	struct spec *spec;
	struct target *targets;
	size_t count;
	struct strv roots, found;
	struct strv *considered; /* files and directories that were looked at, or NULL */
	uint64_t deadline_ns;
	unsigned names;
	bool is_cut;
};

static void search_done(struct search *search)
{
	for (size_t i = 0; i < search->count; i++)
		strv_done(&search->targets[i].names);
	free(search->targets);
	strv_done(&search->roots);
	strv_done(&search->found);
}

static struct target *find_target(const struct search *search, const struct stat *st)
{
	for (size_t i = 0; i < search->count; i++) {
		if (search->targets[i].ino == st->st_ino && search->targets[i].dev == st->st_dev)
			return &search->targets[i];
	}
	return NULL;
}

/* PATH is one more name of the file. */
static void add_name(struct target *target, const char *path)
{
	if (strv_has(&target->names, path))
		return;
	strv_add(&target->names, path);
	target->missing -= target->missing > 0;
}

static void consider_file(struct search *search, const char *path, const struct stat *st)
{
	struct target *target = find_target(search, st);

	if (S_ISREG(st->st_mode) && search->considered)
		strv_add(search->considered, path);
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return;
	if (!target) {
		search->targets =
			xrealloc(search->targets, search->count + 1, sizeof(*search->targets));
		target = &search->targets[search->count++];
		*target = (struct target){ st->st_dev, st->st_ino, st->st_nlink, STRV_INIT };
	}
	add_name(target, path);
}

/* Whether the file at PATH is hidden: it matches one of PATTERNS, or PATTERNS is NULL and the whole directory is. */
static bool is_meant(const struct strv *patterns, const char *path)
{
	for (size_t i = 0; patterns && i < patterns->count; i++) {
		if (mask_pattern_match(patterns->items[i], path))
			return true;
	}
	return !patterns;
}

static void consider_path(struct search *search, const char *path);

static void consider_files_of(struct search *search, const char *path, const struct strv *patterns)
{
	owned(dir_close) DIR *dir = opendir(*path ? path : "/");
	char name[PATH_MAX + NAME_MAX + 2];
	struct dirent *entry;
	struct stat st;

	while (dir_next(dir, &entry) > 0) {
		bool is_dir = entry->d_type == DT_DIR && patterns;

		if (!is_dir && entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (!is_meant(patterns, name))
			continue;
		/* A pattern may hide a directory: its files are looked for as well. */
		if (is_dir)
			consider_path(search, name);
		else if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			consider_file(search, name, &st);
	}
}

/* Our own folders hold no file that is made to be linked to; state of services is not searched for credentials. */
static bool is_listed(const struct search *search, const char *path)
{
	const struct host *host = search->host;
	bool is_of_services = path_is_within(path, "/var/lib") &&
			      !path_is_within(path, search->spec->home) &&
			      !path_is_within(path, search->spec->workspace);

	return !is_of_services && strcmp(path, host->data_dir) != 0 &&
	       strcmp(path, host->state_dir) != 0 && strcmp(path, host->cache_dir) != 0;
}

static void consider_path(struct search *search, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (!S_ISDIR(st.st_mode) || !is_listed(search, path)) {
		consider_file(search, path, &st);
		return;
	}
	if (search->considered)
		strv_add(search->considered, path);
	consider_files_of(search, path, NULL);
}

/* The patterns of one directory are looked at together. */
static void consider_patterns(struct search *search, struct strv *patterns)
{
	char dir[PATH_MAX];

	for (size_t i = 0; i < patterns->count; i++) {
		size_t len = (size_t)(strrchr(patterns->items[i], '/') - patterns->items[i]);
		bool is_done = false;

		for (size_t j = 0; j < i && !is_done; j++)
			is_done = strncmp(patterns->items[j], patterns->items[i], len + 1) == 0 &&
				  !strchr(patterns->items[j] + len + 1, '/');
		if (is_done)
			continue;
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)len, patterns->items[i]);
		consider_files_of(search, dir, patterns);
	}
}

/* Which entries a directory may have: one reading of it in place of a hundred looks at names that it lacks. */
struct entry_filter {
	uint64_t bits[FILTER_WORDS];
};

/* By its first component, whatever its case: some directories ignore case. */
static unsigned filter_bit(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name && *name != '/'; name++)
		hash = (hash ^ ((unsigned char)*name | 0x20u)) * 16777619u;
	return hash % (64 * FILTER_WORDS);
}

static void filter_read(struct entry_filter *ret_filter, const char *path)
{
	owned(dir_close) DIR *dir = opendir(path);
	struct dirent *entry;
	int got;

	memset(ret_filter, 0, sizeof(*ret_filter));
	while ((got = dir_next(dir, &entry)) > 0) {
		unsigned bit = filter_bit(entry->d_name);

		ret_filter->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	if (got < 0)
		memset(ret_filter, 0xff, sizeof(*ret_filter));
}

static bool filter_may_have(const struct entry_filter *filter, const char *name)
{
	unsigned bit = filter_bit(name);

	return filter->bits[bit / 64] >> bit % 64 & 1;
}

/* Credentials of a HOME that is hidden as a whole have no masks of their own. */
static void consider_home(struct search *search, struct strv *patterns)
{
	struct entry_filter filter;
	char path[PATH_MAX];

	if (mask_shows(search->spec, search->spec->home))
		return;
	filter_read(&filter, search->spec->home);
	for (const char *const *name = mask_home_hidden; *name; name++) {
		if (!filter_may_have(&filter, *name) && !strchr(*name, '*'))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", search->spec->home, *name);
		if (strchr(*name, '*'))
			strv_add(patterns, path);
		else
			consider_path(search, path);
	}
}

static void consider_masks(struct search *search, struct strv *patterns)
{
	const struct spec *spec = search->spec;

	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind == MASK_HIDE)
			consider_path(search, spec->masks[i].path);
		else if (spec->masks[i].kind == MASK_GLOB)
			strv_add(patterns, spec->masks[i].path);
	}
}

/* What is left to be found: files with links whose names are not known. */
static bool is_complete(const struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		if (search->targets[i].missing > 0)
			return false;
	}
	return true;
}

static bool may_go_on(struct search *search)
{
	search->names++;
	if (search->names > NAMES_MAX ||
	    (search->names % CLOCK_NAMES == 0 && clock_now_ns() > search->deadline_ns))
		search->is_cut = true;
	return !search->is_cut;
}

static bool has_inode(const struct search *search, ino_t ino)
{
	for (size_t i = 0; i < search->count; i++) {
		if (search->targets[i].ino == ino)
			return true;
	}
	return false;
}

static void check_file(struct search *search, int dir_fd, const char *name, const char *path)
{
	struct target *target;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	target = find_target(search, &st);
	if (!target)
		return;
	add_name(target, path);
	if (mask_shows(search->spec, path))
		strv_add(&search->found, path);
}

static bool is_on_target(const struct search *search, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < search->count; i++) {
		if (search->targets[i].dev == st.st_dev)
			return true;
	}
	return false;
}

/* Directory NAME of DIR_FD, which is PATH, if the sandbox sees some of it and it may hold such files; NULL. */
static DIR *open_seen(const struct search *search, int dir_fd, const char *name, const char *path)
{
	owned(dir_close) DIR *dir = NULL;

	if (!mask_shows(search->spec, path) && !mask_keeps_below(search->spec, path))
		return NULL;
	dir = dir_open(dir_fd, name);
	return dir && is_on_target(search, dirfd(dir)) ? ptr_take(&dir) : NULL;
}

/* Looks through directory NAME of DIR_FD, which is PATH, and those below it on filesystems that hold such files. */
static void search_below(struct search *search, int dir_fd, const char *name, const char *path,
			 unsigned depth)
{
	owned(dir_close) DIR *dir = open_seen(search, dir_fd, name, path);
	struct dirent *entry;

	if (dir && depth == DEPTH_MAX) {
		search->is_cut = true;
		return;
	}
	while (!is_complete(search) && may_go_on(search) && dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *below = NULL;
		bool is_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;

		if (!is_dir && !has_inode(search, entry->d_ino))
			continue;
		below = xasprintf("%s/%s", path[1] ? path : "", entry->d_name);
		check_file(search, dirfd(dir), entry->d_name, below);
		if (is_dir && !strv_has(&search->roots, below))
			search_below(search, dirfd(dir), entry->d_name, below, depth + 1);
	}
}

/* The workspace first, what is mounted in by name, tool chains, then the rest of the machine. */
static void add_roots(struct search *search)
{
	const struct spec *spec = search->spec;

	if (!spec->workspace_made)
		strv_add(&search->roots, spec->workspace);
	for (size_t i = 0; i < spec->bind_count; i++)
		strv_add(&search->roots, spec->binds[i].source);
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (mask_kind_shows(spec->masks[i].kind) &&
		    !strv_has(&search->roots, spec->masks[i].path))
			strv_add(&search->roots, spec->masks[i].path);
	}
	strv_add(&search->roots, "/");
}

static void consider_all(struct search *search)
{
	owned(strv_done) struct strv patterns = STRV_INIT;

	consider_masks(search, &patterns);
	consider_home(search, &patterns);
	consider_patterns(search, &patterns);
}

void alias_list(const struct host *host, struct spec *spec, struct strv *ret_paths)
{
	owned(search_done) struct search search = { .host = host,
						    .spec = spec,
						    .considered = ret_paths };

	consider_all(&search);
}

void alias_search(const struct host *host, struct spec *spec)
{
	owned(search_done) struct search search = { .host = host, .spec = spec };

	consider_all(&search);
	if (is_complete(&search))
		return;
	search.deadline_ns = clock_now_ns() + SEARCH_NS;
	add_roots(&search);
	for (size_t i = 0; i < search.roots.count && !search.is_cut && !is_complete(&search); i++)
		search_below(&search, AT_FDCWD, search.roots.items[i], search.roots.items[i], 0);
	for (size_t i = 0; i < search.found.count; i++) {
		if (mask_shows(spec, search.found.items[i]))
			spec_insert_mask(spec, MASK_HIDE, search.found.items[i]);
	}
	spec->aliases_cut = search.is_cut && !is_complete(&search);
}
