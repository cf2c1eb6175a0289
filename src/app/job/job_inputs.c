/* SPDX-License-Identifier: Apache-2.0 */
/* What a job works on: files of its workspace as lines that can be compared. */
#include "app/job/job_parts.h"

#include "app/config/profile_load.h"
#include "app/git/git.h"
#include "app/git/git_plain.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/disk/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FILES_MAX 200000
#define WATCHES_MAX 8192
#define LOOK_NS (UINT64_C(60) * 1000000000)
#define WATCHED                                                                           \
	(IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | \
	 IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW |      \
	 IN_EXCL_UNLINK)

struct looking {
	const struct job_place *place;
	const struct job_look *look;
	const char *pattern, *root;
	struct strv *lines;
};

void job_watch_directory(struct job_watches *watches, const char *path)
{
	if (!watches || watches->is_cut)
		return;
	/* One directory that cannot be watched is no reason not to watch the others. */
	if (watches->count < WATCHES_MAX && inotify_add_watch(watches->fd, path, WATCHED) >= 0)
		watches->count++;
	else
		watches->is_cut =
			watches->count >= WATCHES_MAX || errno == ENOSPC || errno == ENOMEM;
}

/* A link counts by what it says, anything but a file by its being there. */
static int add_content(int dir_fd, const char *name, const char *path, struct strv *lines)
{
	owned(fd_close) int fd = file_open(dir_fd, name, O_NOFOLLOW, NULL);
	char hex[SHA256_HEX_SIZE], link[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (fd >= 0 && fstat(fd, &st) == 0 && digest_fd(fd, hex) == 0) {
		strv_addf(lines, "%s\n%o %s", path, st.st_mode & 0111u, hex);
		return 0;
	}
	len = readlinkat(dir_fd, name, link, sizeof(link));
	strv_addf(lines, "%s\n-> %.*s", path, len > 0 ? (int)len : 0, link);
	return 0;
}

static int visit(const struct walk_entry *entry, void *cookie)
{
	const struct looking *looking = cookie;
	const struct statx *st = entry->st;
	bool is_top = strcmp(looking->root, ".") == 0;
	owned(free_ptr) char *path =
		is_top ? xstrdup(entry->path) : xasprintf("%s/%s", looking->root, entry->path);

	if (S_ISDIR(st->stx_mode)) {
		owned(free_ptr) char *whole = xasprintf("%s/%s", looking->place->workspace, path);

		if (strcmp(entry->name, ".git") == 0)
			return WALK_SKIP;
		job_watch_directory(looking->look->watches, whole);
		return 0;
	}
	if (!job_pattern_matches(looking->pattern, path))
		return 0;
	if (looking->lines->count >= FILES_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (looking->look->is_content)
		return add_content(entry->dir_fd, entry->name, path, looking->lines);
	strv_addf(looking->lines, "%s\n%o %llu %lld.%u", path, st->stx_mode,
		  (unsigned long long)st->stx_size, (long long)st->stx_mtime.tv_sec,
		  st->stx_mtime.tv_nsec);
	return 0;
}

/* A pattern without a wildcard may name a single file: its directory is looked at then. */
static char *find_root(int workspace_fd, const char *pattern)
{
	char *root = job_pattern_root(pattern), *slash;
	struct stat st;

	if (fstatat(workspace_fd, root, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return root;
	slash = strrchr(root, '/');
	if (slash) {
		*slash = '\0';
		return root;
	}
	free(root);
	return xstrdup(".");
}

int job_look(const struct job_place *place, const struct job_look *look, struct strv *ret_lines,
	     struct error *err)
{
	owned(fd_close) int fd =
		open(place->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", place->workspace);
	for (size_t i = 0; i < look->patterns->count; i++) {
		owned(free_ptr) char *root = find_root(fd, look->patterns->items[i]);
		owned(free_ptr) char *whole = xasprintf("%s/%s", place->workspace, root);
		struct looking looking = { place, look, look->patterns->items[i], root, ret_lines };
		struct walk walk = { .purpose = WALK_SCAN,
				     .visit = visit,
				     .cookie = &looking,
				     .until_ns = clock_now_ns() + LOOK_NS };

		job_watch_directory(look->watches, whole);
		if ((walk_tree(&walk, fd, root) < 0 && errno != ENOENT) || walk.missed & WALK_CUT)
			return error_set(err, ERROR_INPUT,
					 "'%s': more than %d files, or more than a minute to look "
					 "at",
					 looking.pattern, FILES_MAX);
	}
	strv_sort(ret_lines);
	return 0;
}

/* What git tracks, as it is on disk now; 0 where there is no repository. */
static int look_at_tracked(const struct job_place *place, struct strv *ret_lines, struct error *err)
{
	static const char *const words[] = { "ls-files", "-z", NULL };
	const struct git_call call = { .words = words, .is_real = true };
	owned(strv_done) struct strv directories = STRV_INIT;
	owned(str_done) struct str out = STR_INIT;
	owned(fd_close) int top_fd = -1;
	struct git git;
	int status;

	git_plain_find(place->workspace, &directories);
	if (directories.count == 0)
		return 0;
	if (git_open(place->workspace, place->env, &git, err) < 0)
		return -1;
	top_fd = open(git.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	status = top_fd < 0 ? error_errno(err, ERROR_HOST, "%s", git.top)
			    : git_run(&git, &call, &out, err);
	git_close(&git);
	if (status < 0)
		return -1;
	for (const char *path = str_cstr(&out), *end = path + out.len; path < end;
	     path += strlen(path) + 1) {
		if (ret_lines->count >= FILES_MAX)
			return error_set(err, ERROR_INPUT, "git tracks more than %d files",
					 FILES_MAX);
		(void)add_content(top_fd, path, path, ret_lines);
	}
	return 1;
}

int job_inputs(const struct job_place *place, struct strv *ret_lines, struct error *err)
{
	char *all[] = { (char[]){ "**" } };
	const struct strv everything = { .items = all, .count = 1 };
	const struct strv *own = &place->job.inputs;
	struct job_look look = { .patterns = own->count ? own : &everything, .is_content = true };
	const char *profile = value_get_text(place->job.work, "profile");
	struct profile_pin pin;
	int status;

	if (profile) {
		status = app_pin_profile(profile, place->env, &pin, err);
		strv_addf(ret_lines, "\nprofile %s", status < 0 ? "" : pin.digest);
		profile_pin_done(&pin);
		if (status < 0)
			return -1;
	}
	status = own->count ? 0 : look_at_tracked(place, ret_lines, err);
	return status != 0 ? (status < 0 ? -1 : 0) : job_look(place, &look, ret_lines, err);
}

static void sort_paths(const struct value *paths, struct strv *ret_sorted)
{
	for (size_t i = 0; paths && i < paths->many.count; i++) {
		const struct value *one = paths->many.items[i];
		const char *path =
			one->kind == VALUE_TEXT ? one->text.bytes : value_get_text(one, "path");

		if (path)
			strv_add(ret_sorted, path);
	}
	strv_sort(ret_sorted);
}

static bool is_named(const char *line, const struct strv *sorted)
{
	owned(free_ptr) char *path = sorted->count ? xstrndup(line, strcspn(line, "\n")) : NULL;

	return path && strv_has_sorted(sorted, path);
}

void job_lines_digest(const struct job_place *place, const struct strv *lines,
		      const struct value *paths, char ret_hex[static SHA256_HEX_SIZE])
{
	owned(strv_done) struct strv sorted = STRV_INIT;
	struct sha256 sum;

	sort_paths(paths, &sorted);
	sha256_start(&sum);
	sha256_add(&sum, str_cstr(&place->text), place->text.len + 1);
	sha256_add(&sum, str_cstr(&place->more), place->more.len + 1);
	for (size_t i = 0; i < lines->count; i++) {
		if (!is_named(lines->items[i], &sorted))
			sha256_add(&sum, lines->items[i], strlen(lines->items[i]) + 1);
	}
	sha256_end(&sum, ret_hex);
}
