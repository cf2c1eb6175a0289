/* SPDX-License-Identifier: Apache-2.0 */
/* A promoted change as a git commit: blobs, a tree, a commit, the branch, the user's index; in that order. */
#include "app/stage/repo.h"

#include "base/core/env.h"
#include "base/core/own.h"
#include "app/stage/ask_parts.h"
#include "app/git/git.h"
#include "app/git/git_plain.h"
#include "app/record/history.h"
#include "app/record/record.h"
#include "app/change/workspace_parts.h"
#include "workspace/base/promotion.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"
#include "workspace/disk/target.h"

#include <string.h>

struct commit {
	struct git git;
	struct strv paths;   /* relative to the repository's top */
	struct strv skipped; /* ignored by it */
	char id[LAYER_ID_SIZE];
	char *run_id;
	char *old, *branch; /* old: "" on a branch without commits */
	struct str changes; /* as update-index reads them */
	struct strv who;    /* author and committer, as variables */
};

static void commit_done(struct commit *commit)
{
	git_close(&commit->git);
	strv_done(&commit->paths);
	strv_done(&commit->skipped);
	strv_done(&commit->who);
	free(commit->run_id);
	free(commit->old);
	free(commit->branch);
	str_done(&commit->changes);
}

/* One call of git with WORDS and no input. */
static int say(const struct commit *commit, bool is_real, const char *const *words,
	       struct str *ret_output, struct error *err)
{
	const struct git_call call = { .words = words, .is_real = is_real, .may_say_no = true };

	return git_run(&commit->git, &call, ret_output, err);
}

/* The paths of the promotion below the repository's top; what is git's own is not for it to keep. */
static void take_paths(struct commit *commit, const struct promotion_record *record)
{
	for (size_t i = 0; i < record->paths.count; i++) {
		owned(free_ptr) char *whole =
			xasprintf("%s/%s", record->target, record->paths.items[i]);
		const char *path = target_relative(commit->git.top, whole);

		if (path && *path && !str_starts(path, ".git/") && strcmp(path, ".git") != 0 &&
		    !strstr(path, "/.git/"))
			strv_add(&commit->paths, path);
	}
}

/* Whether it is in force, and of this very sandbox where that is still there. */
static bool is_ours(const struct opened *opened, const struct promotion_record *record,
		    const char *sandbox)
{
	owned(promotion_entry_done) struct promotion_entry entry = { 0 };
	struct error ignored;

	if (strcmp(record->sandbox, sandbox) != 0 ||
	    (strcmp(record->state, "live") != 0 && strcmp(record->state, "kept") != 0))
		return false;
	return !opened->has_sandbox ||
	       (promotion_read(&opened->store, record->id, &entry, &ignored) == 0 &&
		strcmp(entry.sandbox_id, opened->sandbox.id) == 0);
}

static int take_promotion(struct commit *commit, const struct opened *opened, const char *sandbox,
			  const char *const *env, struct error *err)
{
	struct promotion_record *items = NULL;
	size_t count = 0, found = 0;
	int status;

	if (promotion_list(&opened->store, NULL, &items, &count, err) < 0)
		return -1;
	while (found < count && !is_ours(opened, &items[found], sandbox))
		found++;
	if (found == count) {
		error_set(err, ERROR_NOT_FOUND, "nothing of '%s' is promoted", sandbox);
		status = error_add_hint(err, "first: aisbx promote %s", sandbox);
	} else {
		memcpy(commit->id, items[found].id, sizeof(commit->id));
		status = git_open(items[found].target, env, &commit->git, err);
		if (status == 0)
			take_paths(commit, &items[found]);
	}
	promotion_records_free(items, count);
	return status;
}

static int find_promotion(struct commit *commit, const char *sandbox, const char *const *env,
			  struct error *err)
{
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	/* The sandbox itself may be gone by now. */
	if (opened_open(&opened, sandbox, SANDBOX_UNLOCKED, err) < 0 &&
	    (err->code != ERROR_NOT_FOUND || !opened.has_store))
		return -1;
	return take_promotion(commit, &opened, sandbox, env, err);
}

/* What the repository ignores and does not track stays out, as it would with git add. */
static int drop_ignored(struct commit *commit, struct error *err)
{
	static const char *const words[] = { "check-ignore", "-z", "--stdin", NULL };
	owned(strv_done) struct strv kept = STRV_INIT;
	owned(str_done) struct str input = STR_INIT, out = STR_INIT;

	for (size_t i = 0; i < commit->paths.count; i++)
		str_add_bytes(&input, commit->paths.items[i], strlen(commit->paths.items[i]) + 1);
	const struct git_call call = { .words = words,
				       .is_real = true,
				       .input = str_cstr(&input),
				       .input_len = input.len,
				       .may_say_no = true };

	if (git_run(&commit->git, &call, &out, err) < 0)
		return -1;
	for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1)
		strv_add(&commit->skipped, out.data + at);
	for (size_t i = 0; i < commit->paths.count; i++)
		if (!strv_has(&commit->skipped, commit->paths.items[i]))
			strv_add(&kept, commit->paths.items[i]);
	strv_done(&commit->paths);
	strv_copy(&commit->paths, &kept);
	return 0;
}

static void put_change(struct commit *commit, const char *mode, const char *object,
		       const char *path)
{
	str_addf(&commit->changes, "%s %s\t", mode, object);
	str_add_bytes(&commit->changes, path, strlen(path) + 1);
}

/* The object of what is at PATH now, read without following anything. */
static int hash_path(struct commit *commit, int top_fd, const char *path, struct error *err)
{
	static const char *const words[] = { "hash-object", "-w", "--no-filters", "--stdin", NULL };
	struct git_call call = { .words = words };
	owned(free_ptr) char *link = NULL;
	owned(str_done) struct str object = STR_INIT;
	owned(fd_close) int fd = -1;
	struct txn_identity now;
	char type;

	if (target_look(top_fd, path, &now) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	type = target_type(&now);
	if (type == 'l') {
		link = target_read_link(top_fd, path);
		call.input = link ? link : "";
		call.input_len = link ? strlen(link) : 0;
	} else if (type == 'f') {
		fd = target_open_file(top_fd, path, &now);
		if (fd < 0)
			return error_errno(err, ERROR_HOST, "%s", path);
		call.input_fd = fd;
	} else {
		/* Gone; or a directory, which git knows by what is in it. */
		put_change(commit, "0", commit->git.nothing, path);
		return 0;
	}
	if (git_run(&commit->git, &call, &object, err) < 0)
		return -1;
	put_change(commit,
		   type == 'l'	     ? "120000"
		   : now.mode & 0100 ? "100755"
				     : "100644",
		   str_cstr(&object), path);
	return 0;
}

static int hash_paths(struct commit *commit, struct error *err)
{
	owned(fd_close) int top_fd = -1;

	if (target_open(commit->git.top, &top_fd, err) < 0)
		return -1;
	/* What goes makes room for what comes: a file where a directory was. */
	for (size_t i = 0; i < commit->paths.count; i++) {
		struct txn_identity now;

		(void)target_look(top_fd, commit->paths.items[i], &now);
		if (!now.exists && hash_path(commit, top_fd, commit->paths.items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < commit->paths.count; i++) {
		struct txn_identity now;

		if (target_look(top_fd, commit->paths.items[i], &now) < 0)
			return error_errno(err, ERROR_HOST, "%s", commit->paths.items[i]);
		if (now.exists && target_type(&now) != 'd' &&
		    hash_path(commit, top_fd, commit->paths.items[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Where the branch stands. */
static int read_head(struct commit *commit, struct error *err)
{
	static const char *const branch[] = { "symbolic-ref", "-q", "--short", "HEAD", NULL };
	static const char *const head[] = { "rev-parse", "-q", "--verify", "HEAD^{commit}", NULL };
	owned(str_done) struct str name = STR_INIT, old = STR_INIT;

	if (say(commit, true, branch, &name, err) < 0 || say(commit, true, head, &old, err) < 0)
		return -1;
	commit->branch = name.len ? str_detach(&name) : NULL;
	commit->old = str_detach(&old);
	return 0;
}

/* The user's word in the environment, or in the user's own configuration; never the repository's. */
static int read_who(struct commit *commit, const char *const *env, const char *what,
		    struct error *err)
{
	const bool is_name = strcmp(what, "NAME") == 0;
	const char *const key = is_name ? "user.name" : "user.email";
	const char *const words[] = { "config", "--get", key, NULL };
	owned(free_ptr) char *author = xasprintf("GIT_AUTHOR_%s", what);
	owned(free_ptr) char *committer = xasprintf("GIT_COMMITTER_%s", what);
	owned(str_done) struct str own = STR_INIT;

	/* Our git directory's own configuration has neither: what answers is the user's or the system's. */
	if (say(commit, false, words, &own, err) < 0)
		return -1;
	if (own.len == 0 && (!env_given(env, author) || !env_given(env, committer)))
		return error_set(err, ERROR_INPUT,
				 "git does not know who you are: git config --global %s ...", key);
	strv_addf(&commit->who, "%s=%s", author,
		  env_given(env, author) ? env_given(env, author) : str_cstr(&own));
	strv_addf(&commit->who, "%s=%s", committer,
		  env_given(env, committer) ? env_given(env, committer) : str_cstr(&own));
	return 0;
}

/*
 * Puts the changes into INDEX. Also the repository's own is written from our git directory: git looks again at files it
 * wrote in the same moment, through the filters that a configuration names.
 */
static int update_index(struct commit *commit, const char *index, struct error *err)
{
	static const char *const words[] = { "update-index", "-z",	     "--add",
					     "--replace",    "--index-info", NULL };
	const struct git_call call = { .words = words,
				       .index = index,
				       .input = str_cstr(&commit->changes),
				       .input_len = commit->changes.len };
	owned(str_done) struct str out = STR_INIT;

	return git_run(&commit->git, &call, &out, err);
}

/* The tree of the commit: the old one, and the changes. */
static int make_tree(struct commit *commit, struct str *ret_tree, struct error *err)
{
	owned(free_ptr) char *index = xasprintf("%s/index", commit->git.private.path);
	const char *const fill[] = { "read-tree", *commit->old ? commit->old : "--empty", NULL };
	static const char *const write[] = { "write-tree", NULL };
	struct git_call call = { .words = fill, .index = index };

	if (git_run(&commit->git, &call, ret_tree, err) < 0 || update_index(commit, index, err) < 0)
		return -1;
	call.words = write;
	return git_run(&commit->git, &call, ret_tree, err);
}

static int check_differs(const struct commit *commit, const char *tree, struct error *err)
{
	owned(free_ptr) char *name = xasprintf("%s^{tree}", commit->old);
	const char *const words[] = { "rev-parse", name, NULL };
	owned(str_done) struct str old = STR_INIT;

	if (!*commit->old)
		return 0;
	if (say(commit, false, words, &old, err) < 0)
		return -1;
	if (strcmp(str_cstr(&old), tree) != 0)
		return 0;
	return error_set(err, ERROR_CONFLICT,
			 "nothing to commit: promotion %s changed nothing that is not committed",
			 commit->id);
}

static int make_commit(const struct commit *commit, const char *tree, const char *message,
		       struct str *ret_commit, struct error *err)
{
	const char *const words[] = { "commit-tree", "--no-gpg-sign",
				      tree,	     *commit->old ? "-p" : NULL,
				      commit->old,   NULL };
	owned(str_done) struct str text = STR_INIT;

	str_add(&text, message);
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		str_truncate(&text, text.len - 1);
	str_addf(&text, "\n\nAisbx-Promotion: %s\n", commit->id);
	if (commit->run_id)
		str_addf(&text, "Aisbx-Run: %s\n", commit->run_id);
	const struct git_call call = {
		.words = words, .env = &commit->who, .input = text.data, .input_len = text.len
	};

	return git_run(&commit->git, &call, ret_commit, err);
}

/* Only from where it was looked at. */
static int move_branch(const struct commit *commit, const char *made, struct error *err)
{
	const char *const words[] = {
		"update-ref", "-m", "aisbx repo commit",
		"HEAD",	      made, *commit->old ? commit->old : commit->git.nothing,
		NULL
	};
	const struct git_call call = { .words = words, .is_real = true, .env = &commit->who };
	owned(str_done) struct str out = STR_INIT;

	if (git_plain_check_logs(&commit->git.directories, err) < 0)
		return -1;
	if (git_run(&commit->git, &call, &out, err) == 0)
		return 0;
	err->code = ERROR_CONFLICT;
	return error_context(err, "the branch moved meanwhile, nothing is committed");
}

static struct value *describe(const struct commit *commit, const char *made, const char *note)
{
	struct value *answer = value_new_map();

	value_add(answer, "commit", value_new_text(made));
	value_add(answer, "branch", value_new_text(commit->branch));
	value_add(answer, "promotion_id", value_new_text(commit->id));
	value_add(answer, "run_id", value_new_text(commit->run_id));
	value_add(answer, "paths", workspace_paths(&commit->paths));
	value_add(answer, "skipped", workspace_paths(&commit->skipped));
	value_add(answer, "note", value_new_text(note));
	return answer;
}

/* Which promotion, which of its paths, on which branch. */
static int find(struct commit *commit, const struct app_commit *wish, struct error *err)
{
	return find_promotion(commit, wish->sandbox, wish->environ, err) < 0 ||
			       drop_ignored(commit, err) < 0 || read_head(commit, err) < 0
		       ? -1
		       : 0;
}

static int check_expected(const struct commit *commit, const struct app_commit *wish,
			  struct error *err)
{
	if (!wish->promotion_id ||
	    (str_same(wish->promotion_id, commit->id) && str_same(wish->branch, commit->branch)))
		return 0;
	return error_set(err, ERROR_CONFLICT,
			 "nothing is committed: the newest promotion or the branch is another than "
			 "what was asked about");
}

int app_repo_look(const struct app_commit *wish, struct value **ret_answer, struct error *err)
{
	owned(commit_done) struct commit commit = { .run_id = NULL };

	if (find(&commit, wish, err) < 0)
		return -1;
	const struct strv told = { .items = commit.paths.items,
				   .count = commit.paths.count < TOLD_PATHS ? commit.paths.count
									    : TOLD_PATHS };

	*ret_answer = value_new_map();
	value_add(*ret_answer, "target", value_new_text(commit.git.top));
	value_add(*ret_answer, "branch", value_new_text(commit.branch));
	value_add(*ret_answer, "promotion_id", value_new_text(commit.id));
	value_add(*ret_answer, "files", value_new_int((int64_t)commit.paths.count));
	value_add(*ret_answer, "paths", workspace_paths(&told));
	return 0;
}

int app_repo_commit(const struct app_commit *wish, struct value **ret_answer, struct error *err)
{
	owned(commit_done) struct commit commit = { .run_id = NULL };
	owned(str_done) struct str tree = STR_INIT, made = STR_INIT;
	struct error index_failed = { 0 };

	if (find(&commit, wish, err) < 0 || check_expected(&commit, wish, err) < 0 ||
	    read_who(&commit, wish->environ, "NAME", err) < 0 ||
	    read_who(&commit, wish->environ, "EMAIL", err) < 0 || hash_paths(&commit, err) < 0)
		return -1;
	commit.run_id = app_last_run(wish->sandbox);
	if (make_tree(&commit, &tree, err) < 0 ||
	    check_differs(&commit, str_cstr(&tree), err) < 0 ||
	    make_commit(&commit, str_cstr(&tree), wish->message, &made, err) < 0 ||
	    move_branch(&commit, str_cstr(&made), err) < 0)
		return -1;
	/* The commit is made; an index that is locked shows these paths as changed until it is refreshed. */
	(void)update_index(&commit, commit.git.index, &index_failed);
	*ret_answer =
		describe(&commit, str_cstr(&made), index_failed.code ? index_failed.text : NULL);
	const struct record_event event = {
		.kind = "commit", .sandbox = wish->sandbox, .id = commit.id, .body = *ret_answer
	};

	record_event(&event);
	return 0;
}
