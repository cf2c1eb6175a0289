/* SPDX-License-Identifier: Apache-2.0 */
/* What of an outside git directory is shown: its data, a configuration without what runs or is secret, no hooks. */
#include "app/prepare/git_outside_parts.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "plan/git_config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Submodules of a work tree that are shown with it, one in the other. */
#define MODULES_DEPTH 5
#define MODULES_MAX 100
#define ENTRIES_MAX 10000
#define LOG_MAX ((size_t)4 << 20)

/* A git directory being added, with those of its submodules. */
struct showing {
	struct plan_paths *paths;
	struct plan_git *git;
	unsigned modules, entries;
};

static struct spec_mask *add(struct showing *showing, enum mask_kind kind, const char *directory,
			     const char *name)
{
	struct plan_git *git = showing->git;
	char *path = name ? xasprintf("%s/%s", directory, name) : xstrdup(directory);

	git->masks = xrealloc(git->masks, git->count + 1, sizeof(*git->masks));
	git->masks[git->count] = (struct spec_mask){ .kind = kind, .path = path };
	return &git->masks[git->count++];
}

static bool in_list(const char *name, const char *const *names)
{
	for (; *names; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

/* HEAD, MERGE_HEAD, COMMIT_EDITMSG: what git notes about a work tree. */
static bool is_note(const char *name)
{
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

static bool is_shown(const char *name, enum git_part part)
{
	static const char *const common[] = { "HEAD", "logs",	 "objects", "packed-refs",
					      "refs", "shallow", NULL };
	static const char *const own[] = { "commondir",	   "description",  "gitdir",	"index",
					   "info",	   "lfs",	   "locked",	"modules",
					   "rebase-apply", "rebase-merge", "sequencer", NULL };

	if (in_list(name, common))
		return true;
	return part == GIT_OWN &&
	       (in_list(name, own) || is_note(name) || str_starts(name, "sharedindex."));
}

/* The configuration NAME without what runs or is secret; none is made where there is none. */
static int show_config(struct showing *showing, const struct git_place *place, const char *name)
{
	owned(fd_close) int fd = file_open(place->fd, name, O_NOFOLLOW, NULL);
	owned(str_done) struct str text = STR_INIT;
	struct str clean = STR_INIT;

	if (fd < 0) {
		(void)add(showing, MASK_HIDE, place->path, name);
		return 0;
	}
	if (fd_read_all(fd, GIT_CONFIG_MAX, &text) < 0 || git_config_clean(&text, &clean) < 0) {
		str_done(&clean);
		return -1;
	}
	add(showing, MASK_FILE, place->path, name)->content = str_detach(&clean);
	return 0;
}

/* Whether an address in TEXT has a user, and perhaps a password: git logs the words of `git pull ADDRESS`. */
static bool has_user(const char *text)
{
	while ((text = strstr(text, "://"))) {
		size_t len = strcspn(text, " \t\n");

		if (memchr(text, '@', len))
			return true;
		text += len;
	}
	return false;
}

/* Below zero also for logs that cannot be read. */
static int log_is_plain(const struct walk_entry *entry, void *cookie)
{
	owned(str_done) struct str text = STR_INIT;

	(void)cookie;
	if (S_ISDIR(entry->st->stx_mode))
		return 0;
	owned(fd_close) int fd = file_open(entry->dir_fd, entry->name, O_NOFOLLOW, NULL);

	return fd >= 0 && fd_read_all(fd, LOG_MAX, &text) == 0 &&
			       !memchr(str_cstr(&text), '\0', text.len) &&
			       !has_user(str_cstr(&text))
		       ? 0
		       : -1;
}

/* A hidden directory is an empty one: git begins new logs in it. */
static void show_logs(struct showing *showing, const struct git_place *place)
{
	owned(git_place_done) struct git_place logs = { .fd = -1 };
	struct walk walk = { .purpose = WALK_LOGS, .visit = log_is_plain };
	char shown[STR_SHOWN_SIZE];

	if (git_place_open(place->path, "logs", &logs) < 0 && errno == ENOENT)
		return;
	if (logs.fd < 0 || walk_tree(&walk, logs.fd, ".") < 0) {
		(void)add(showing, MASK_HIDE, place->path, "logs");
		strv_addf(
			&showing->paths->git_notes,
			"the logs of %s are not shown: an address in them has a user or password, "
			"or they cannot be read",
			str_shown(place->path, shown));
	}
}

static int show_modules(struct showing *showing, const struct git_place *modules, unsigned depth);

/* Hides the entries of PLACE that are not for a sandbox. */
static int show_entries(struct showing *showing, const struct git_place *place, enum git_part part)
{
	owned(dir_close) DIR *dir = dir_open(place->fd, ".");
	struct dirent *entry;
	int status;

	while ((status = dir_next(dir, &entry)) > 0) {
		if (++showing->entries > ENTRIES_MAX)
			return -1;
		if (!is_shown(entry->d_name, part) && strcmp(entry->d_name, "config") != 0 &&
		    strcmp(entry->d_name, "config.worktree") != 0)
			(void)add(showing, MASK_HIDE, place->path, entry->d_name);
	}
	if (status < 0)
		return -1;
	/* Also where there are none yet: the host may make some while the sandbox runs. */
	if (!git_place_has(place, "hooks", S_IFDIR))
		(void)add(showing, MASK_HIDE, place->path, "hooks");
	show_logs(showing, place);
	if (show_config(showing, place, "config") < 0)
		return -1;
	return show_config(showing, place, "config.worktree");
}

static int show_all(struct showing *showing, const struct git_place *place, unsigned depth)
{
	owned(git_place_done) struct git_place modules = { .fd = -1 };

	if (show_entries(showing, place, GIT_OWN) < 0)
		return -1;
	if (git_place_open(place->path, "modules", &modules) < 0)
		return 0;
	return show_modules(showing, &modules, depth + 1);
}

/* A submodule's git directory, or the first part of a name with slashes in it. */
static int show_module(struct showing *showing, const struct git_place *modules, const char *name,
		       unsigned depth)
{
	owned(git_place_done) struct git_place module = { .fd = -1 };

	if (depth > MODULES_DEPTH || ++showing->modules > MODULES_MAX ||
	    git_place_open(modules->path, name, &module) < 0) {
		(void)add(showing, MASK_HIDE, modules->path, name);
		return 0;
	}
	return git_place_has(&module, "HEAD", S_IFREG) ? show_all(showing, &module, depth)
						       : show_modules(showing, &module, depth + 1);
}

static int show_modules(struct showing *showing, const struct git_place *modules, unsigned depth)
{
	owned(dir_close) DIR *dir = dir_open(modules->fd, ".");
	struct dirent *entry;
	int status;

	while ((status = dir_next(dir, &entry)) > 0) {
		if (++showing->entries > ENTRIES_MAX ||
		    show_module(showing, modules, entry->d_name, depth) < 0)
			return -1;
	}
	return status;
}

static struct plan_git *add_git(struct plan_paths *paths, const char *path)
{
	struct plan_git *git;

	paths->git = xrealloc(paths->git, paths->git_count + 1, sizeof(*paths->git));
	git = &paths->git[paths->git_count++];
	*git = (struct plan_git){ .path = xstrdup(path) };
	return git;
}

/* What was added for nothing is still there to be released. */
static void drop_git(struct plan_paths *paths)
{
	struct plan_paths dropped = { .git = xmalloc(sizeof(*paths->git)), .git_count = 1 };

	dropped.git[0] = paths->git[--paths->git_count];
	git_outside_done(&dropped);
}

int git_show_directory(struct plan_paths *paths, const struct git_place *place,
		       const struct git_place *own)
{
	struct showing showing = { .paths = paths, .git = add_git(paths, place->path) };
	int status;

	(void)add(&showing, MASK_KEEP, place->path, NULL);
	if (own) {
		status = show_entries(&showing, place, GIT_COMMON);
		(void)add(&showing, MASK_KEEP, own->path, NULL);
		if (status == 0)
			status = show_all(&showing, own, 0);
	} else {
		status = show_all(&showing, place, 0);
	}
	if (status < 0)
		drop_git(paths);
	return status;
}

/* Two digits of an id, packs, and what git notes about them. */
static bool is_of_objects(const char *name)
{
	return (strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2) ||
	       strcmp(name, "pack") == 0 || strcmp(name, "info") == 0;
}

void git_show_objects(struct plan_paths *paths, const struct git_place *place)
{
	struct showing showing = { .paths = paths, .git = add_git(paths, place->path) };
	owned(dir_close) DIR *dir = dir_open(place->fd, ".");
	struct dirent *entry;

	showing.git->is_borrowed = true;
	(void)add(&showing, MASK_KEEP, place->path, NULL);
	while (dir_next(dir, &entry) > 0) {
		if (is_of_objects(entry->d_name))
			continue;
		/* Git makes no other entries in any number. */
		if (++showing.entries > ENTRIES_MAX) {
			drop_git(paths);
			return;
		}
		(void)add(&showing, MASK_HIDE, place->path, entry->d_name);
	}
}
