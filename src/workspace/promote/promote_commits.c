/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which changes of a git directory outside the workspace are promoted: new objects, and the branch of this worktree.
 *
 * The sandbox may write anything there: other branches, the configuration, hooks, objects that are there already. None of
 * that is ever selected. The branch is the one that the sandbox's HEAD names; one that is checked out in another worktree
 * of the host is refused, as git does, since its files would no longer be those of its commit.
 */
#include "workspace/promote/promote_commits.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REF_MAX 4096
#define HEADS "refs/heads/"

/* The length of the hexadecimal digits at TEXT. */
static size_t digits(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

static bool is_digest_len(size_t len)
{
	return len == 40 || len == 64;
}

/* objects/ab/cdef..., objects/pack/pack-abcd....pack */
static bool is_object(const char *path)
{
	static const char *const endings[] = { ".pack", ".idx" };
	size_t len;

	if (!str_starts(path, "objects/"))
		return false;
	path += strlen("objects/");
	if (digits(path) == 2 && path[2] == '/')
		return is_digest_len(2 + digits(path + 3)) && !path[3 + digits(path + 3)];
	if (!str_starts(path, "pack/pack-"))
		return false;
	path += strlen("pack/pack-");
	len = digits(path);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (is_digest_len(len) && strcmp(path + len, endings[i]) == 0)
			return true;
	}
	return false;
}

/* Whether git would take NAME for something else wherever a branch is named: HEAD, or the id of a commit. */
static bool is_taken(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, "HEAD") == 0 || strcmp(name, "@") == 0 ||
	       (is_digest_len(len) && strspn(name, "0123456789abcdefABCDEF") == len);
}

/* Whether NAME is one of a branch that git itself would make. */
static bool is_branch(const char *name)
{
	for (const char *letter = name; *letter; letter++) {
		if ((unsigned char)*letter <= ' ' || strchr("\177~^:?*[\\", *letter))
			return false;
	}
	return *name && !is_taken(name) && *name != '/' && *name != '.' && *name != '-' &&
	       !strstr(name, "..") && !strstr(name, "//") && !strstr(name, "/.") &&
	       !strstr(name, "@{") && !str_ends(name, "/") && !str_ends(name, ".lock") &&
	       !strstr(name, ".lock/");
}

/* The branch that the HEAD in TEXT names; NULL: none. The caller's to free. */
static char *branch_of(struct str *text)
{
	owned(free_ptr) char *line = xstrndup(str_cstr(text), strcspn(str_cstr(text), "\r\n"));

	if (!str_starts(line, "ref: " HEADS))
		return NULL;
	return xstrdup(line + strlen("ref: " HEADS));
}

static char *path_in(const char *own, const char *name)
{
	return xasprintf("%s%s%s", own, *own ? "/" : "", name);
}

static void read_fd(int fd, struct str *ret_text)
{
	if (fd < 0 || fd_read_all(fd, REF_MAX, ret_text) < 0)
		str_clear(ret_text);
}

/* The branch that this worktree's HEAD names in the sandbox. */
static char *branch_inside(const struct promote *promote, const char *own)
{
	owned(free_ptr) char *path = path_in(own, "HEAD");
	owned(str_done) struct str text = STR_INIT;
	size_t at = promote_find(promote, path);
	struct error ignored = { 0 };
	owned(fd_close) int fd = -1;

	if (at == NO_ITEM)
		fd = file_open(promote->target_fd, path, O_NOFOLLOW, NULL);
	else if (promote->items[at].entry.new.exists &&
		 S_ISREG(promote->items[at].entry.new.st.st_mode))
		fd = promote_open_theirs(promote, &promote->items[at], &ignored);
	read_fd(fd, &text);
	return branch_of(&text);
}

/* Whether the HEAD at PATH on the host names BRANCH. */
static bool has_out(const struct promote *promote, const char *path, const char *branch)
{
	owned(fd_close) int fd =
		sys_open_beneath(promote->target_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *found = NULL;

	read_fd(fd, &text);
	found = branch_of(&text);
	return found && strcmp(found, branch) == 0;
}

static int refuse_elsewhere(const struct promote *promote, const char *own, const char *branch,
			    struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(promote->target_fd, "worktrees");
	bool is_elsewhere =
		(*own || promote->request->keeps_head) && has_out(promote, "HEAD", branch);
	char shown[STR_SHOWN_SIZE];
	struct dirent *entry;

	while (!is_elsewhere && dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *other = xasprintf("worktrees/%s", entry->d_name);
		owned(free_ptr) char *head = path_in(other, "HEAD");

		is_elsewhere = strcmp(other, own) != 0 && has_out(promote, head, branch);
	}
	if (!is_elsewhere)
		return 0;
	if (promote->request->keeps_head)
		return error_set(
			err, ERROR_DENIED,
			"branch '%s' is checked out on the host: promote it with its files, "
			"without --commits, or switch to another one there or in the sandbox",
			str_shown(branch, shown));
	return error_advise(err, ERROR_DENIED, "git switch -c NAME",
			    "branch '%s' is checked out in another worktree, whose files are not "
			    "of this sandbox: switch to one of its own there",
			    str_shown(branch, shown));
}

/* Files of its own that hold this worktree's place in the history; MOVED: those that change with every commit. */
static bool is_of_worktree(const struct promote *promote, const char *path, const char *branch,
			   bool *ret_moved)
{
	const char *own = promote->request->commits;
	bool is_head_kept = promote->request->keeps_head;
	owned(free_ptr) char *head = path_in(own, "HEAD"), *log = path_in(own, "logs/HEAD");
	owned(free_ptr) char *index = path_in(own, "index");
	owned(free_ptr) char *ref = branch ? xasprintf(HEADS "%s", branch) : NULL;
	owned(free_ptr) char *ref_log = branch ? xasprintf("logs/" HEADS "%s", branch) : NULL;

	*ret_moved = (!is_head_kept && strcmp(path, head) == 0) || (ref && strcmp(path, ref) == 0);
	return *ret_moved || (ref_log && strcmp(path, ref_log) == 0) ||
	       (!is_head_kept && (strcmp(path, log) == 0 || strcmp(path, index) == 0));
}

/* New directories on the way to what is selected. */
static void select_parents(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		if (!promote->items[i].is_selected)
			continue;
		for (size_t at = promote->items[i].parent; at != NO_ITEM;
		     at = promote->items[at].parent) {
			struct item *above = &promote->items[at];

			if (above->entry.op == DELTA_ADDED && above->entry.new.exists)
				above->is_selected = true;
		}
	}
}

/* HEAD, a stash, any branch or tag, of this worktree or of all. */
static bool is_ref(const char *path, const char *own)
{
	owned(free_ptr) char *start = path_in(own, "");
	const char *rest = str_starts(path, start) ? path + strlen(start) : path;

	return strcmp(rest, "HEAD") == 0 || strcmp(path, "packed-refs") == 0 ||
	       str_starts(path, "refs/") || str_starts(rest, "refs/");
}

/* Whether the sandbox changed any ref of the directory to what the host does not have. */
static bool has_refs(const struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];
		owned(str_done) struct str here = STR_INIT, inside = STR_INIT;
		struct error ignored = { 0 };

		if (!item->entry.new.exists || !S_ISREG(item->entry.new.st.st_mode) ||
		    !is_ref(item->path, promote->request->commits))
			continue;
		/* What cannot be read may be anything. */
		if (promote_read_side(promote, item->path, true, &inside, &ignored) < 0 ||
		    promote_read_side(promote, item->path, false, &here, &ignored) < 0 ||
		    strcmp(str_cstr(&here), str_cstr(&inside)) != 0)
			return true;
	}
	return false;
}

int promote_select_commits(struct promote *promote, struct error *err)
{
	const char *own = promote->request->commits;
	owned(free_ptr) char *branch = branch_inside(promote, own);
	bool has_moved = false;

	promote->promotion->has_refs = has_refs(promote);
	if (branch && !is_branch(branch))
		return error_set(err, ERROR_DENIED,
				 "HEAD in the sandbox names no proper branch: no commit is "
				 "promoted");
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];
		bool is_file = item->entry.new.exists &&S_ISREG(item->entry.new.st.st_mode);
		bool is_move = false;

		item->is_selected =
			is_file && ((item->entry.op == DELTA_ADDED && is_object(item->path)) ||
				    is_of_worktree(promote, item->path, branch, &is_move));
		has_moved |= item->is_selected && is_move;
	}
	owned(free_ptr) char *head = path_in(own, "HEAD");

	if (branch &&
	    ((has_moved && refuse_elsewhere(promote, own, branch, err) < 0) ||
	     promote_note_branch(promote, branch, has_out(promote, head, branch), err) < 0))
		return -1;
	/* Objects that no branch names, and an index without a commit, stay where they are. */
	for (size_t i = 0; !has_moved && i < promote->count; i++)
		promote->items[i].is_selected = false;
	select_parents(promote);
	return 0;
}

/*
 * Every look of a git on the host may write the index anew, with other times in it. It has to fit the commit, or git would
 * show the commit as taken back; the host's stays in the store, and undo brings it back. A branch that has the host's
 * commits in it, and the logs, may be put over the host's.
 */
enum promote_strategy promote_strategy_for(const struct promote *promote, const struct item *item)
{
	const char *own = promote->request->commits;
	const struct branch_move *move = promote->move;
	owned(free_ptr) char *index = own ? path_in(own, "index") : NULL;
	bool is_move = false;

	if (index && (strcmp(item->path, index) == 0 ||
		      (move && move->is_forward &&
		       is_of_worktree(promote, item->path, move->branch, &is_move))))
		return STRATEGY_THEIRS;
	return promote->request->strategy;
}
