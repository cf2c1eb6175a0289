/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the host has replaced while processes of a sandbox held on to what was there before. */
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <fcntl.h>
#include <sys/stat.h>

/* A command's caller waits for it. Processor time: on a busy machine the same files are found. */
#define DIRECTORIES_MAX 2000u
#define SEARCH_NS 5000000u
#define SHOWN_MAX 5u

struct search {
	const struct sandbox *sandbox;
	struct view_stack stack;
	uint64_t since_ns, until_ns;
	int workspace_fd;
	struct strv ahead; /* directories, relative */
	struct strv found; /* the first few */
	size_t count;
};

/* Whether the sandbox shows the host's file. A version of its own is never out of date. */
static bool is_of_host(const struct search *search, const char *relative)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", search->sandbox->workspace, relative);
	struct view_object object = { .dir_fd = -1 };
	struct error ignored;
	bool is_base = view_lookup(&search->stack, 0, path, &object, &ignored) == 0 &&
		       object.kind == VIEW_BASE;

	view_object_done(&object);
	return is_base;
}

static void add_found(struct search *search, const char *relative)
{
	if (!is_of_host(search, relative))
		return;
	if (search->count++ < SHOWN_MAX)
		strv_add(&search->found, relative);
}

/* Skip files of an unchanged directory: none was replaced, and edits in place are visible in the sandbox. */
static void search_directory(struct search *search, const char *path)
{
	owned(fd_close) int fd =
		sys_open_beneath(search->workspace_fd, *path ? path : ".", O_RDONLY | O_DIRECTORY);
	struct stat about, st;
	struct dirent *entry;

	if (fd < 0 || fstat(fd, &about) < 0)
		return;
	owned(dir_close) DIR *dir = dir_take(&fd);
	bool has_changed = clock_ns_of(&about.st_mtim) >= search->since_ns;

	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *relative =
			xasprintf("%s%s%s", path, *path ? "/" : "", entry->d_name);

		if (entry->d_type == DT_DIR)
			strv_add(&search->ahead, relative);
		else if (has_changed &&
			 fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 clock_ns_of(&st.st_ctim) >= search->since_ns)
			add_found(search, relative);
	}
}

/* False when there was more than could be looked at. */
static bool search_workspace(struct search *search)
{
	strv_add(&search->ahead, "");
	for (size_t i = 0; i < search->ahead.count; i++) {
		if (i == DIRECTORIES_MAX || clock_busy_ns() >= search->until_ns)
			return false;
		search_directory(search, search->ahead.items[i]);
	}
	return true;
}

static void add_note(const struct search *search, bool is_whole, struct strv *notes)
{
	owned(str_done) struct str text = STR_INIT;

	if (search->count == 0 && is_whole)
		return;
	for (size_t i = 0; i < search->found.count; i++)
		str_addf(&text, "%s%s", i ? ", " : "", search->found.items[i]);
	if (search->count > search->found.count)
		str_addf(&text, " and %zu more", search->count - search->found.count);
	if (search->count == 0)
		str_add(&text, "files");
	if (!is_whole && search->count > 0)
		str_add(&text, " and others");
	str_add(&text, " may be older in the sandbox than on the host, since processes are alive "
		       "in it; ");
	/* A sandbox with an owner is a client's, which has tools and no command line. */
	if (search->sandbox->owner)
		str_add(&text, "refresh, with kill,");
	else
		str_addf(&text, "`aisbx refresh %s --kill`", search->sandbox->name);
	str_add(&text, " ends them and shows the files as they are");
	strv_add(notes, str_cstr(&text));
}

void sandbox_note_older(const struct sandbox *sandbox, uint64_t since_ns, struct strv *notes)
{
	struct search search = { .sandbox = sandbox,
				 .since_ns = since_ns,
				 .until_ns = clock_busy_ns() + SEARCH_NS,
				 .workspace_fd = -1,
				 .ahead = STRV_INIT,
				 .found = STRV_INIT };
	struct error ignored;

	if (sandbox_makes_workspace(sandbox) ||
	    target_open(sandbox->workspace, &search.workspace_fd, &ignored) < 0)
		return;
	if (app_view(sandbox, NULL, &search.stack, &ignored) == 0) {
		bool is_whole = search_workspace(&search);

		add_note(&search, is_whole, notes);
		view_close(&search.stack);
	}
	fd_close(&search.workspace_fd);
	strv_done(&search.ahead);
	strv_done(&search.found);
}
