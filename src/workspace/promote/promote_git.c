/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that comes inside git's data: a branch that moves, an index, a pack.
 *
 * The sandbox may commit a changed Makefile and put the old one back into its work tree; then nothing in the tree has
 * changed, and the next checkout on the host brings it. So what a ref, HEAD or the index comes to name is compared with
 * what it named before (git_probe.h), and what of it would run by itself is asked about as if it were in the tree.
 * Objects have the name of their content: one that is there already is never replaced in silence.
 */
#include "workspace/promote/promote_commits.h"
#include "workspace/promote/promote_parts.h"
#include "workspace/promote/promote_refs.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/consent/git_probe.h"
#include "workspace/consent/name_fold.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/consent/trigger.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of what one ref brings. */
#define FILES_TOLD 200
/* A sandbox may write any number of refs into one file; beyond this many that differ, none is compared. */
#define PACKED_MOVES_MAX 4096

#define HEADS "refs/heads/"
#define WHY_UNKNOWN "git data that could not be compared with what was there"
#define WHY_REPLACED "replaces a git object that is there"
#define WHY_LOST "git history that the host has, and would lose"
#define WHY_REF "not a plain ref"

/* The lines of a text. */
static void list_lines(const struct str *text, struct path_set *ret_lines)
{
	for (const char *at = str_cstr(text); *at;) {
		size_t len = strcspn(at, "\n");
		owned(free_ptr) char *line = xstrndup(at, len);

		(void)path_set_add(ret_lines, line);
		at += len + (at[len] == '\n');
	}
}

/* One question about one item. */
struct asked {
	const struct item *item;
	size_t answer;
	bool is_forward; /* whether a ref has what it had among its ancestors */
};

/* A repository that the promotion changes. */
struct repository {
	struct promote_refs refs;
	struct git_probe probe;
	struct asked *asked;
	size_t count;
};

/* A ref's file that is one id and the end of the line. */
static bool is_plain_id(const struct str *text)
{
	size_t len = text->len > 0 ? promote_refs_id_len(text->data, text->len) : 0;

	return len > 0 && strspn(text->data + len, " \n\r\t") == text->len - len;
}

static void note_question(struct repository *repository, const struct item *item, size_t answer)
{
	repository->asked =
		xrealloc(repository->asked, repository->count + 1, sizeof(struct asked));
	repository->asked[repository->count++] = (struct asked){ .item = item, .answer = answer };
}

/*
 * A ref of the host's, NAME with the file FILE, that the item moves. Git finds what it leaves again by the host's log of it,
 * or as an ancestor of what it comes to; a tag has neither. False: it would be lost.
 */
static bool ask_left(struct repository *repository, const struct item *item, const char *file,
		     const char *name)
{
	owned(free_ptr) char *old = NULL, *new = NULL;

	/* What packed refs that cannot be read say of it is not known. */
	if (repository->refs.is_unread && !item->now.exists)
		return false;
	if (!promote_refs_leaves(&repository->refs, file, name, &old, &new))
		return true;
	if (!*new || str_starts(name, "refs/tags/"))
		return false;
	note_question(repository, item, git_probe_ask_forward(&repository->probe, old, new));
	repository->asked[repository->count - 1].is_forward = true;
	return true;
}

/* Packed refs that are moved where they are packed; one with a file of its own is asked about by that. */
static bool ask_left_packed(struct repository *repository, const struct item *item)
{
	const struct promote_refs *refs = &repository->refs;
	owned(path_set_done) struct path_set kept = { 0 };
	size_t moves = 0;

	list_lines(&refs->packed_new, &kept);
	for (const char *at = str_cstr(&refs->packed_old); *at;) {
		size_t len = strcspn(at, "\n"), id = promote_refs_id_len(at, len);
		owned(free_ptr) char *line = xstrndup(at, len);

		at += len + (at[len] == '\n');
		if (id == 0 || line[id] != ' ' || path_set_has(&kept, line))
			continue;
		owned(free_ptr) char *file = promote_refs_path(refs, line + id + 1);

		if (++moves > PACKED_MOVES_MAX ||
		    (promote_find(refs->promote, file) == NO_ITEM &&
		     !ask_left(repository, item, file, line + id + 1)))
			return false;
	}
	return true;
}

/* What the item, at REST, does to refs that the host has. False: one of them would lose what it names. */
static bool ask_refs_left(struct repository *repository, const struct item *item, const char *rest)
{
	const struct promote *promote = repository->refs.promote;
	const char *branch = promote->move ? promote->move->branch : NULL;
	owned(str_done) struct str folded = STR_INIT;

	name_fold_path(rest, &folded);
	if (promote_refs_is_open(promote, item))
		return true;
	if (strcmp(str_cstr(&folded), "packed-refs") == 0)
		return ask_left_packed(repository, item);
	/* The branch that --commits moves was looked at by itself. */
	if (branch && str_starts(rest, HEADS) && strcmp(rest + strlen(HEADS), branch) == 0)
		return true;
	return (strcmp(str_cstr(&folded), "head") != 0 &&
		!str_starts(str_cstr(&folded), "refs/")) ||
	       ask_left(repository, item, item->path, rest);
}

/* A move of ITEM from OLD to NEW; without a past of its own it starts from where HEAD is. */
static void ask_move(struct repository *repository, const struct item *item, const char *old,
		     const char *new)
{
	owned(free_ptr) char *head_file = promote_refs_path(&repository->refs, "HEAD");
	owned(free_ptr) char *head =
		*old ? NULL : promote_refs_resolve(&repository->refs, head_file, "HEAD", false);

	if (*new &&strcmp(*old ? old : head, new) != 0)
		note_question(repository, item,
			      git_probe_ask_trees(&repository->probe, *old ? old : head, new));
}

/* A symbolic ref may stand where git itself puts one, and name what git itself lets it name. */
static bool is_proper_symref(const struct str *text, const char *rest)
{
	const char *target = text->data + strlen(SYMREF);
	size_t remote = strlen("refs/remotes/") + strcspn(rest + strlen("refs/remotes/"), "/");

	if (strncmp(text->data, SYMREF, strlen(SYMREF)) != 0 || strstr(target, ".."))
		return false;
	if (strcmp(rest, "HEAD") == 0)
		return strncmp(target, "refs/heads/", strlen("refs/heads/")) == 0;
	return strncmp(rest, "refs/remotes/", strlen("refs/remotes/")) == 0 &&
	       strcmp(rest + remote, "/HEAD") == 0 && strncmp(target, rest, remote + 1) == 0;
}

/* HEAD, a file below refs, or one of git's other notes of a commit. False: it is none that git would have written. */
static bool ask_ref(struct repository *repository, const struct item *item, const char *rest)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *old = NULL, *new = NULL;

	if (promote_read_item(repository->refs.promote, item, REF_SIZE_MAX, &text) < 0)
		return false;
	if (text.len > 0 && !is_plain_id(&text) && !is_proper_symref(&text, rest))
		return false;
	old = promote_refs_resolve(&repository->refs, item->path, rest, false);
	new = promote_refs_resolve(&repository->refs, item->path, rest, true);
	ask_move(repository, item, old, new);
	return true;
}

/* Files with an id at the beginning of each line: commits that are about to be merged, or were fetched. */
static bool ask_list(struct repository *repository, const struct item *item)
{
	owned(str_done) struct str text = STR_INIT;
	const char *line;

	if (promote_read_item(repository->refs.promote, item, REF_SIZE_MAX, &text) < 0)
		return false;
	for (line = str_cstr(&text); *line; line += strcspn(line, "\n") + 1) {
		size_t len = promote_refs_id_len(line, strcspn(line, "\n"));
		owned(free_ptr) char *new = xstrndup(line, len);

		if (len == 0)
			return false;
		ask_move(repository, item, "", new);
		if (!line[strcspn(line, "\n")])
			break;
	}
	return true;
}

/* One line of packed refs, of LEN bytes. */
static bool ask_packed_line(struct repository *repository, const struct item *item,
			    const char *line, size_t len)
{
	size_t id = promote_refs_id_len(line, len);

	if (id == 0 || line[id] != ' ')
		return *line == '#' || *line == '^';
	owned(free_ptr) char *name = xstrndup(line + id + 1, len - id - 1);
	owned(free_ptr) char *new = xstrndup(line, id);
	owned(free_ptr) char *file = promote_refs_path(&repository->refs, name);
	owned(free_ptr) char *old = promote_refs_resolve(&repository->refs, file, name, false);

	if (str_starts(name, "refs/replace/"))
		return false;
	ask_move(repository, item, old, new);
	return true;
}

/* A line that the host has, too, says nothing new: a file of the ref's own is another item. */
static bool ask_packed(struct repository *repository, const struct item *item)
{
	const struct str *text = &repository->refs.packed_new;
	owned(path_set_done) struct path_set had = { 0 };
	size_t moves = 0;

	if (item->entry.new.st.st_size > 0 && text->len == 0)
		return false;
	list_lines(&repository->refs.packed_old, &had);
	for (const char *at = str_cstr(text); *at;) {
		size_t len = strcspn(at, "\n");
		owned(free_ptr) char *line = xstrndup(at, len);

		if (!path_set_has(&had, line) &&
		    (++moves > PACKED_MOVES_MAX || !ask_packed_line(repository, item, line, len)))
			return false;
		at += len + (at[len] == '\n');
	}
	return true;
}

static bool ask_index(struct repository *repository, const struct item *item)
{
	owned(free_ptr) char *old_name = xasprintf("index-%zu-old", repository->count);
	owned(free_ptr) char *new_name = xasprintf("index-%zu-new", repository->count);
	struct error ignored = { 0 };
	owned(fd_close) int new_fd = promote_open_theirs(repository->refs.promote, item, &ignored);
	owned(fd_close) int old_fd =
		target_type(&item->now) == 'f'
			? promote_open_ours(repository->refs.promote, item, &ignored)
			: -1;

	if (new_fd < 0 || item->content != CONTENT_THEIRS ||
	    git_probe_add(&repository->probe, new_name, new_fd, &ignored) < 0 ||
	    (old_fd >= 0 && git_probe_add(&repository->probe, old_name, old_fd, &ignored) < 0))
		return false;
	note_question(repository, item,
		      git_probe_ask_index(&repository->probe, old_name, new_name));
	return true;
}

/* "pack-" and the name of its content: nothing else goes into a question. */
static bool is_pack_index(const char *rest)
{
	const char *name = rest + strlen("objects/pack/");

	return strncmp(rest, "objects/pack/pack-", strlen("objects/pack/pack-")) == 0 &&
	       strcmp(name + 5 + promote_refs_id_len(name + 5, strlen(name + 5)), ".idx") == 0;
}

static bool take_object(struct repository *repository, const struct item *item, const char *rest)
{
	struct error ignored = { 0 };
	owned(fd_close) int fd = promote_open_theirs(repository->refs.promote, item, &ignored);

	if (fd < 0 || git_probe_add(&repository->probe, rest, fd, &ignored) < 0)
		return false;
	if (!str_ends(rest, ".idx") && !str_ends(rest, ".midx"))
		return true;
	if (!is_pack_index(rest))
		return false;
	note_question(repository, item, git_probe_ask_pack(&repository->probe, rest));
	return true;
}

/* Whether an object that the host has would be another one. Its name is the digest of its content. */
static bool replaces_object(const struct item *item)
{
	return item->now.exists && item->content != CONTENT_OURS &&
	       (item->entry.op != DELTA_MODIFIED || (item->entry.aspects & ASPECT_CONTENT));
}

/* Whether FOLDED is a file in which git keeps the ids of commits, one a line. */
static bool is_list_of_ids(const char *folded)
{
	static const char *const lists[] = { "orig_head",	 "fetch_head",	"merge_head",
					     "cherry_pick_head", "revert_head", "rebase_head" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(folded, lists[i]) == 0)
			return true;
	}
	return false;
}

/* What a file that is no object means to its repository, as look_at; FOLDED is REST as file systems may read it. */
static const char *look_at_name(struct repository *repository, const struct item *item,
				const char *rest, const char *folded)
{
	if (strcmp(folded, "head") == 0 || str_starts(folded, "refs/"))
		return ask_ref(repository, item, rest) ? NULL : WHY_REF;
	if (strcmp(folded, "packed-refs") == 0)
		return ask_packed(repository, item) ? NULL : WHY_REF;
	if (strcmp(folded, "index") == 0)
		return ask_index(repository, item) ? NULL : WHY_UNKNOWN;
	if (is_list_of_ids(folded))
		return ask_list(repository, item) ? NULL : WHY_REF;
	return NULL;
}

/* What the item means to its repository; NULL: nothing, or a question was put. REST: its path there. */
static const char *look_at(struct repository *repository, const struct item *item, const char *rest)
{
	owned(str_done) struct str folded = STR_INIT;
	bool is_object;

	if (item->type != 'f')
		return NULL;
	name_fold_path(rest, &folded);
	is_object = str_starts(str_cstr(&folded), "objects/");
	if ((is_object || str_starts(str_cstr(&folded), "lfs/objects/")) && replaces_object(item))
		return WHY_REPLACED;
	if (!is_object)
		return look_at_name(repository, item, rest, str_cstr(&folded));
	return str_starts(rest, "objects/") && take_object(repository, item, rest) ? NULL
										   : WHY_UNKNOWN;
}

/* The directory that has the refs and objects of the one that PATH lies in: a linked work tree has neither. */
static char *common_directory(const char *path, size_t len)
{
	owned(free_ptr) char *directory = xstrndup(path, len);
	char *name = strrchr(directory, '/');

	if (name) {
		*name = '\0';
		if (strcmp(directory, "worktrees") == 0)
			return xstrdup("");
		if (str_ends(directory, "/worktrees"))
			return xstrndup(directory, strlen(directory) - strlen("/worktrees"));
		*name = '/';
	}
	return ptr_take(&directory);
}

static void repository_done(struct repository *repository)
{
	git_probe_close(&repository->probe);
	free(repository->asked);
	promote_refs_done(&repository->refs);
}

static int repository_open(struct repository *repository, const struct promote *promote,
			   const char *directory, struct error *err)
{
	owned(free_ptr) char *head = NULL;
	owned(free_ptr) char *id = NULL;

	promote_refs_init(&repository->refs, promote, directory);
	head = promote_refs_path(&repository->refs, "HEAD");
	id = promote_refs_resolve(&repository->refs, head, "HEAD", true);
	return git_probe_open(&repository->probe, strlen(id) == SHA256_LEN, err);
}

/* Why a path of a tree is asked about; NULL: it is not. ROW: a letter and the path (git_probe.h). */
static const char *why_of_row(const struct strv *named, const char *row)
{
	if (consent_is_named(named, row + 1))
		return "git configuration names it";
	return row[0] == 'l' ? "symbolic link" : trigger_why(row + 1);
}

/* Every file that would run by itself, of those that differ; of very many, the others by their number. */
static void ask_for_answer(struct promote *promote, const struct asked *asked,
			   const struct git_answer *answer, struct path_set *lost)
{
	const struct item *item = asked->item;
	size_t count = 0;

	if (asked->is_forward) {
		if (!answer->is_known && path_set_add(lost, item->path))
			promote_ask_for(promote, item->path, WHY_LOST);
		return;
	}
	if (!answer->is_known) {
		promote_ask_for(promote, item->path, WHY_UNKNOWN);
		return;
	}
	for (size_t i = 0; i < answer->paths.count; i++) {
		const char *row = answer->paths.items[i];
		const char *why = why_of_row(promote->request->named, row);
		char shown[STR_SHOWN_SIZE];

		if (why && ++count <= FILES_TOLD) {
			owned(free_ptr) char *words =
				xasprintf("brings %s (%s)", str_shown(row + 1, shown), why);

			promote_ask_for(promote, item->path, words);
		}
	}
	if (count > FILES_TOLD) {
		owned(free_ptr) char *words = xasprintf(
			"brings %zu more files that make something run", count - FILES_TOLD);

		promote_ask_for(promote, item->path, words);
	}
}

/* All items of one repository; those of another one below it are its own. */
static int judge_repository(struct promote *promote, const char *directory, struct error *err)
{
	owned(repository_done) struct repository repository = { 0 };
	owned(path_set_done) struct path_set lost = { 0 };
	owned(free_ptr) char *objects = NULL;

	if (repository_open(&repository, promote, directory, err) < 0)
		return -1;
	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];
		const char *rest, *why, *place;
		size_t len;

		if (!promote_is_applied(item) ||
		    !git_tree_repository(promote->tree, item->path, &len, &rest))
			continue;
		owned(free_ptr) char *common = common_directory(item->path, len);

		if (strcmp(common, directory) != 0)
			continue;
		place = promote_refs_lost(&repository.refs, item, rest);
		if (!ask_refs_left(&repository, item, rest) && !place)
			place = item->path;
		if (place && path_set_add(&lost, place))
			promote_ask_for(promote, place, WHY_LOST);
		why = look_at(&repository, item, rest);
		if (why)
			promote_ask_for(promote, item->path, why);
	}
	if (repository.count == 0)
		return 0;
	objects = xasprintf("%s/%s%sobjects", promote->target[1] ? promote->target : "", directory,
			    *directory ? "/" : "");
	git_probe_run(&repository.probe, promote->request->run_git, objects);
	for (size_t i = 0; i < repository.count; i++)
		ask_for_answer(promote, &repository.asked[i],
			       &repository.probe.answers[repository.asked[i].answer], &lost);
	return 0;
}

int promote_ask_git(struct promote *promote, struct error *err)
{
	owned(path_set_done) struct path_set done = { 0 };

	for (size_t i = 0; i < promote->count; i++) {
		const struct item *item = &promote->items[i];
		const char *rest;
		size_t len;

		if (!promote_is_applied(item) || !git_tree_holds(promote->tree, item->path))
			continue;
		promote->promotion->is_git = true;
		if (promote->request->allow_all ||
		    !git_tree_repository(promote->tree, item->path, &len, &rest))
			continue;
		owned(free_ptr) char *directory = common_directory(item->path, len);

		if (path_set_add(&done, directory) && judge_repository(promote, directory, err) < 0)
			return -1;
	}
	return 0;
}
