/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The branch that a promotion of commits moves, as the host and the sandbox have it, and what git thinks of the move.
 *
 * The host's value may lie in packed-refs, of which the sandbox's base knows nothing: whether a commit of the host's would be
 * lost is seen from the history alone. Objects are hostile; git looks at them in a throw-away sandbox (git_probe.h).
 */
#include "workspace/promote/promote_commits.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/consent/git_probe.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_LIMIT ((size_t)64 << 20)

int promote_read_side(const struct promote *promote, const char *path, bool is_inside,
		      struct str *ret_text, struct error *err)
{
	size_t at = is_inside ? promote_find(promote, path) : NO_ITEM;
	const struct delta_side *new = at == NO_ITEM ? NULL : &promote->items[at].entry.new;
	owned(fd_close) int fd = -1;
	char shown[STR_SHOWN_SIZE];

	str_clear(ret_text);
	if (new && (!new->exists || !S_ISREG(new->st.st_mode)))
		return 0;
	if (new)
		fd = promote_open_theirs(promote, &promote->items[at], err);
	else
		fd = sys_open_beneath(promote->target_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && !new && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 && new)
		return -1;
	if (fd < 0 || fd_read_all(fd, SIZE_LIMIT, ret_text) < 0)
		return errno == EISDIR ? 0
				       : error_errno(err, ERROR_HOST, "cannot read '%s'",
						     str_shown(path, shown));
	return 0;
}

/* The id at TEXT; "" when there is none. Owned. */
static char *id_at(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return xstrndup(text, len == 40 || len == 64 ? len : 0);
}

static char *find_packed(const char *line, const char *ref)
{
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		owned(free_ptr) char *id = id_at(line);
		const char *name = line + strlen(id);

		if (*id && *name == ' ' && strcspn(name + 1, "\n") == strlen(ref) &&
		    strncmp(name + 1, ref, strlen(ref)) == 0)
			return ptr_take(&id);
	}
	return xstrdup("");
}

/* The commit of BRANCH on one side. */
static int resolve(const struct promote *promote, const char *branch, bool is_inside,
		   bool *ret_is_packed, char **ret_id, struct error *err)
{
	owned(free_ptr) char *ref = xasprintf("refs/heads/%s", branch);
	owned(str_done) struct str text = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	if (promote_read_side(promote, ref, is_inside, &text, err) < 0)
		return -1;
	*ret_is_packed = text.len == 0;
	if (text.len == 0) {
		if (promote_read_side(promote, "packed-refs", is_inside, &text, err) < 0)
			return -1;
		*ret_id = find_packed(str_cstr(&text), ref);
		return 0;
	}
	*ret_id = id_at(str_cstr(&text));
	if (!**ret_id ||
	    strspn(str_cstr(&text) + strlen(*ret_id), " \r\n\t") != text.len - strlen(*ret_id))
		return error_set(
			err, ERROR_DENIED, "'%s' %s names no commit: no commit is promoted",
			str_shown(ref, shown), is_inside ? "in the sandbox" : "on the host");
	return 0;
}

/* Whether one of the refs NAME (of LEN) and REF would be the directory of the other. */
static bool is_in_way(const char *name, size_t len, const char *ref)
{
	size_t ref_len = strlen(ref), shared = len < ref_len ? len : ref_len;

	return len != ref_len && strncmp(name, ref, shared) == 0 &&
	       (len < ref_len ? ref[len] : name[ref_len]) == '/';
}

static bool is_packed_in_way(const char *line, const char *ref)
{
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *name = line + strcspn(line, " \n");

		if (*name == ' ' && is_in_way(name + 1, strcspn(name + 1, "\n"), ref))
			return true;
	}
	return false;
}

static int find_ref(const struct walk_entry *entry, void *cookie)
{
	(void)cookie;
	return S_ISDIR(entry->st->stx_mode) ? 0 : -1;
}

/*
 * Refuses a branch of which the host has the directory as a branch, or a branch in it: git keeps one of them only, and
 * where one is packed nothing but this would stop the other from being written.
 */
static int refuse_in_way(const struct promote *promote, const char *branch, struct error *err)
{
	owned(free_ptr) char *ref = xasprintf("refs/heads/%s", branch);
	owned(str_done) struct str packed = STR_INIT;
	struct walk walk = { .purpose = WALK_TXN, .visit = find_ref };
	owned(fd_close) int fd =
		sys_open_beneath(promote->target_fd, ref, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	char shown[STR_SHOWN_SIZE];
	bool is_there = fd >= 0 && walk_tree(&walk, fd, ".") != 0;

	if (fd < 0 && errno == ENOTDIR) {
		owned(fd_close) int file_fd =
			sys_open_beneath(promote->target_fd, ref, O_PATH | O_NOFOLLOW);

		is_there = file_fd < 0;
	}
	if (promote_read_side(promote, "packed-refs", false, &packed, err) < 0)
		return -1;
	if (!is_there && !is_packed_in_way(str_cstr(&packed), ref))
		return 0;
	return error_advise(err, ERROR_DENIED, "git branch -m NAME, in the sandbox",
			    "the host has a branch that cannot be there together with '%s', as the "
			    "name of one begins with the other's and a slash",
			    str_shown(branch, shown));
}

void branch_move_free(struct branch_move *move)
{
	if (!move)
		return;
	free(move->branch);
	free(move->from);
	free(move->to);
	free(move);
}

int promote_note_branch(struct promote *promote, const char *branch, bool is_own, struct error *err)
{
	struct branch_move *move = xcalloc(1, sizeof(*move));
	bool is_packed = false, ignored = false;
	char shown[STR_SHOWN_SIZE];

	promote->move = move;
	move->branch = xstrdup(branch);
	if (refuse_in_way(promote, branch, err) < 0 ||
	    resolve(promote, branch, false, &ignored, &move->from, err) < 0 ||
	    resolve(promote, branch, true, &is_packed, &move->to, err) < 0)
		return -1;
	if (!is_own && *move->from && !promote->request->keeps_head)
		return error_advise(
			err, ERROR_DENIED, "git switch, in the worktree on the host",
			"HEAD in the sandbox names '%s', a branch of the host that is not "
			"checked out here: switch to it first, or to a new one inside",
			str_shown(branch, shown));
	if (is_packed && *move->to && strcmp(move->from, move->to) != 0)
		return error_advise(
			err, ERROR_DENIED,
			"b=$(git branch --show-current); git branch -m \"$b-\" && "
			"git branch -m \"$b\"",
			"branch '%s' was packed in the sandbox (git gc, git pack-refs): "
			"unpack it there",
			str_shown(branch, shown));
	return 0;
}

/* Copies new objects for git to look at, and asks about packs. */
static int add_objects(const struct promote *promote, struct git_probe *probe, size_t *ret_count,
		       struct error *err)
{
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];
		owned(fd_close) int fd = -1;

		if (!item->is_selected || !str_starts(item->path, "objects/") ||
		    !S_ISREG(item->entry.new.st.st_mode))
			continue;
		fd = promote_open_theirs(promote, item, err);
		if (fd < 0 || git_probe_add(probe, item->path, fd, err) < 0)
			return -1;
		if (str_ends(item->path, ".idx"))
			(void)git_probe_ask_pack(probe, item->path);
		(*ret_count)++;
	}
	return 0;
}

/* The first QUESTIONS are about objects, of which there are COUNT. */
static int judge_objects(struct promote *promote, const struct git_probe *probe, size_t questions,
			 size_t count, struct error *err)
{
	owned(free_ptr) char *why =
		xasprintf("%zu new objects that could not be checked against their names", count);
	bool is_known = true;

	for (size_t i = 0; i < questions; i++) {
		if (probe->answers[i].is_denied)
			return error_advise(
				err, ERROR_DENIED, "git fsck --full, in the sandbox",
				"new git objects of the sandbox are not what their names "
				"say: no commit is promoted");
		is_known = is_known && probe->answers[i].is_known;
	}
	if (!is_known && count > 0)
		promote_ask_for(promote, "objects", why);
	return 0;
}

int promote_check_commits(struct promote *promote, struct error *err)
{
	struct branch_move *move = promote->move;
	owned(git_probe_close) struct git_probe probe = { 0 };
	owned(free_ptr) char *objects = xasprintf("%s/objects", promote->target);
	size_t count = 0, questions;

	/* Without git there is nothing but a look at what there is. */
	if (!promote->request->commits || !promote->request->run_git)
		return 0;
	if (git_probe_open(&probe, move && strlen(move->to) == 64, err) < 0 ||
	    add_objects(promote, &probe, &count, err) < 0)
		return -1;
	(void)git_probe_ask_objects(&probe);
	questions = probe.count;
	if (move && *move->from && *move->to)
		(void)git_probe_ask_forward(&probe, move->from, move->to);
	if (count == 0 && (!move || strcmp(move->from, move->to) == 0))
		return 0;
	git_probe_run(&probe, promote->request->run_git, objects);
	if (judge_objects(promote, &probe, questions, count, err) < 0)
		return -1;
	if (move && probe.count > questions)
		move->is_forward = probe.answers[questions].is_known;
	return 0;
}

int promote_check_move(struct promote *promote, struct error *err)
{
	const struct branch_move *move = promote->move;
	owned(free_ptr) char *ref = move ? xasprintf("refs/heads/%s", move->branch) : NULL;
	owned(free_ptr) char *now = NULL;
	size_t at = move ? promote_find(promote, ref) : NO_ITEM;
	bool ignored = false;

	if (at == NO_ITEM || !promote->items[at].is_selected ||
	    promote->items[at].fate != FATE_APPLIED)
		return 0;
	if (resolve(promote, move->branch, false, &ignored, &now, err) < 0)
		return -1;
	if (strcmp(now, move->from) != 0) {
		promote_add_conflict(promote, &promote->items[at], "changed");
		return error_set(err, ERROR_CONFLICT, "'%s' is being changed this moment", ref);
	}
	if (!*move->from || strcmp(move->from, move->to) == 0)
		return 0;
	/* The sandbox chose among all branches of the host: that takes a person. */
	if (promote->request->keeps_head)
		promote_ask_for(promote, ref, "moves a branch that the host has already");
	if (move->is_forward)
		return 0;
	/* The host's is packed, so what it was when the sandbox began is not known. */
	if (!promote->items[at].now.exists && promote->request->run_git)
		return error_advise(
			err, ERROR_CONFLICT,
			"aisbx exec NAME -- git rebase \"$(git rev-parse HEAD)\"",
			"branch '%s' of the host has commits that the sandbox's has not: "
			"rebase inside, then promote again",
			move->branch);
	promote_ask_for(promote, ref, "drops commits of the host's branch (no fast-forward)");
	return 0;
}
