/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's git ignores: the paths by work tree, and two questions to git about each of these. */
#include "app/git/git_ignored.h"

#include "app/git/git.h"
#include "app/git/git_plain.h"
#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_MS 10000

/* Where a path lies on the host. Lengths are of the path's beginning, without the slash behind it. */
struct spot {
	size_t top;  /* the nearest nested work tree; 0: that of the root */
	size_t link; /* a symbolic link on the way, behind which git does not look; 0: none */
};

/* A directory on the way to the path looked at last. */
struct step {
	size_t len;
	struct spot spot;
	bool goes_on; /* it is a directory: there is something below it to look at */
};

struct asking {
	const char *root;
	const struct strv *paths;
	struct spot *spots; /* one per path */
	struct step *steps; /* of the last path, from the top */
	size_t step_count, step_room;
	bool *ignored;
};

/* One work tree: its questions in order, and the index of the path that each is about. */
struct inquiry {
	char *top; /* absolute */
	struct str words;
	struct strv questions;
	size_t *about;
	struct git git;
	struct strv env;
};

static void inquiry_done(struct inquiry *inquiry)
{
	free(inquiry->top);
	free(inquiry->about);
	str_done(&inquiry->words);
	strv_done(&inquiry->questions);
	strv_done(&inquiry->env);
	git_close(&inquiry->git);
}

/* Adds what the host has at the first LEN bytes of PATH to *SPOT; false: nothing that git would look behind. */
static bool look_at_part(const char *root, const char *path, size_t len, struct spot *spot)
{
	owned(free_ptr) char *place = xasprintf("%s/%.*s", root, (int)len, path);
	owned(free_ptr) char *dot_git = xasprintf("%s/.git", place);
	struct stat st;

	if (lstat(place, &st) < 0)
		return false;
	if (S_ISLNK(st.st_mode))
		spot->link = len;
	/* A work tree's own name is a matter of the one around it. */
	else if (path[len + 1] && S_ISDIR(st.st_mode) && access(dot_git, F_OK) == 0)
		spot->top = len;
	return S_ISDIR(st.st_mode);
}

static void add_step(struct asking *asking, size_t len, struct spot spot, bool goes_on)
{
	if (asking->step_count == asking->step_room) {
		asking->step_room = asking->step_room ? 2 * asking->step_room : 64;
		asking->steps =
			xrealloc(asking->steps, asking->step_room, sizeof(asking->steps[0]));
	}
	asking->steps[asking->step_count++] =
		(struct step){ .len = len, .spot = spot, .goes_on = goes_on };
}

/*
 * The directories above the path, and itself if it is or was one, from the top. Those shared with the path before are
 * known: asked anew for each path of a deep tree, they would cost the cube of its depth.
 */
static void find_spot(struct asking *asking, size_t at)
{
	const char *path = asking->paths->items[at];
	const char *before = at > 0 ? asking->paths->items[at - 1] : "";
	struct spot *spot = &asking->spots[at];
	size_t from = 0;
	bool goes_on = true;

	while (from < asking->step_count && strncmp(path, before, asking->steps[from].len + 1) == 0)
		from++;
	asking->step_count = from;
	if (from > 0) {
		*spot = asking->steps[from - 1].spot;
		goes_on = asking->steps[from - 1].goes_on;
	}
	const char *slash =
		goes_on ? strchr(from ? path + asking->steps[from - 1].len + 1 : path, '/') : NULL;

	while (slash) {
		size_t len = (size_t)(slash - path);

		goes_on = look_at_part(asking->root, path, len, spot);
		/* What is found at the path's own end counts for that path only. */
		if (slash[1])
			add_step(asking, len, *spot, goes_on);
		slash = goes_on ? strchr(slash + 1, '/') : NULL;
	}
}

static void add_question(struct inquiry *inquiry, size_t about, const char *text, size_t len)
{
	/* No name can be taken for one of git's patterns behind a dot. */
	owned(free_ptr) char *question = xasprintf("./%.*s", (int)len, text);

	inquiry->about =
		xrealloc(inquiry->about, inquiry->questions.count + 1, sizeof(inquiry->about[0]));
	inquiry->about[inquiry->questions.count] = about;
	strv_add(&inquiry->questions, question);
	str_add_bytes(&inquiry->words, question, strlen(question) + 1);
}

/*
 * A directory is asked about as one and by its name alone, for git looks at what the host has there: neither what
 * becomes a directory nor what ceases to be one escapes. What lies behind a link is judged by the link's name.
 */
static void add_questions(const struct asking *asking, struct inquiry *inquiry, size_t at)
{
	const struct spot *spot = &asking->spots[at];
	size_t skipped = spot->top ? spot->top + 1 : 0;
	const char *path = asking->paths->items[at] + skipped;
	size_t len = spot->link ? spot->link - skipped : strlen(path);

	/* The git directory is no part of the work tree. */
	if (len == 0 || (strncmp(path, ".git", 4) == 0 && (path[4] == '\0' || path[4] == '/')))
		return;
	add_question(inquiry, at, path, len);
	if (path[len - 1] == '/')
		add_question(inquiry, at, path, len - 1);
}

static bool is_same_top(const struct asking *asking, size_t one, size_t other)
{
	size_t len = asking->spots[one].top;

	return len == asking->spots[other].top &&
	       strncmp(asking->paths->items[one], asking->paths->items[other], len) == 0;
}

/* Marks what git printed, each behind its NUL: a part of what it was asked, in the same order. */
static size_t take_ignored(const struct inquiry *inquiry, const struct str *out, bool *ignored)
{
	size_t found = 0, at = 0;

	for (size_t i = 0; i < inquiry->questions.count && at < out->len; i++) {
		if (strcmp(inquiry->questions.items[i], out->data + at) != 0)
			continue;
		at += strlen(out->data + at) + 1;
		ignored[inquiry->about[i]] = true;
		found++;
	}
	return found;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether one of the sorted names is PATH, without a slash at its end, or lies below it. */
static bool is_tracked(const char *const *names, size_t count, const char *path)
{
	owned(free_ptr) char *own = xstrdup(path);
	size_t len = strlen(own), low = 0, high = count;

	if (len > 0 && own[len - 1] == '/')
		own[--len] = '\0';
	const char *key = own;

	if (count > 0 && bsearch(&key, names, count, sizeof(names[0]), compare_texts))
		return true;
	owned(free_ptr) char *below = xasprintf("%s/", own);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(names[middle], below) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && strncmp(names[low], below, len + 1) == 0;
}

static void keep_tracked(const struct inquiry *inquiry, const struct str *out, bool *ignored)
{
	const char **names = NULL;
	size_t count = 0, room = 0;

	for (size_t at = 0; at < out->len; at += strlen(out->data + at) + 1) {
		if (count == room) {
			room = room ? room * 2 : 1024;
			names = xrealloc(names, room, sizeof(names[0]));
		}
		names[count++] = out->data + at;
	}
	for (size_t i = 0; i < inquiry->questions.count; i++)
		if (ignored[inquiry->about[i]] &&
		    is_tracked(names, count, inquiry->questions.items[i] + strlen("./")))
			ignored[inquiry->about[i]] = false;
	free(names);
}

static int ask_git(const struct inquiry *inquiry, const char *const *words, struct str *ret_out,
		   struct error *err)
{
	const struct git_call call = { .words = words,
				       .is_real = true,
				       .env = &inquiry->env,
				       .input = inquiry->words.data,
				       .input_len = inquiry->words.len,
				       .may_say_no = true,
				       .limit_ms = ANSWER_MS };

	return git_run(&inquiry->git, &call, ret_out, err);
}

/* 1: git reads the repository that was found, and the place is in its work tree; 0: in none, as in a bare repository. */
static int find_work_tree(const struct inquiry *inquiry, struct error *err)
{
	static const char *const words[] = { "rev-parse", "--is-inside-work-tree", "--show-cdup",
					     NULL };
	owned(free_ptr) char *top = git_plain_top(inquiry->top);
	owned(str_done) struct str out = STR_INIT;
	struct stat want, st;

	if (ask_git(inquiry, words, &out, err) < 0)
		return -1;
	if (str_starts(str_cstr(&out), "false"))
		return 0;
	const char *up = str_starts(str_cstr(&out), "true\n") ? out.data + strlen("true\n") : ".";
	owned(free_ptr) char *taken = xasprintf("%s/%s", inquiry->top, up);

	/* Git passes over a directory that it does not take for its own. */
	if (stat(top, &want) < 0 || stat(taken, &st) < 0 || want.st_dev != st.st_dev ||
	    want.st_ino != st.st_ino)
		return error_set(err, ERROR_HOST, "git does not read the repository of '%s'", top);
	return 1;
}

static int answer(struct inquiry *inquiry, bool *ignored, struct error *err)
{
	/* Without the index: git would go through all of it for each path. */
	static const char *const rules[] = { "check-ignore", "--no-index", "-z", "--stdin", NULL };
	static const char *const tracked[] = { "ls-files", "-z", NULL };
	owned(str_done) struct str out = STR_INIT;
	int status;

	/* The owner of the work tree need not be the caller. */
	strv_add(&inquiry->env, "GIT_CONFIG_COUNT=1");
	strv_add(&inquiry->env, "GIT_CONFIG_KEY_0=safe.directory");
	strv_add(&inquiry->env, "GIT_CONFIG_VALUE_0=*");
	status = find_work_tree(inquiry, err);
	if (status <= 0)
		return status;
	if (ask_git(inquiry, rules, &out, err) < 0)
		return -1;
	if (take_ignored(inquiry, &out, ignored) == 0)
		return 0;
	if (ask_git(inquiry, tracked, &out, err) < 0)
		return -1;
	keep_tracked(inquiry, &out, ignored);
	return 0;
}

/* All paths of one work tree, from the first of them. */
static int inquire(struct asking *asking, size_t first, struct error *err)
{
	owned(inquiry_done) struct inquiry inquiry = { .top = NULL };
	size_t len = asking->spots[first].top;

	inquiry.top =
		len ? xasprintf("%s/%.*s", asking->root, (int)len, asking->paths->items[first])
		    : xstrdup(asking->root);
	for (size_t i = first; i < asking->paths->count; i++)
		if (is_same_top(asking, first, i))
			add_questions(asking, &inquiry, i);
	owned(strv_done) struct strv directories = STRV_INIT;

	git_plain_find(inquiry.top, &directories);
	if (inquiry.questions.count == 0 || directories.count == 0)
		return 0;
	if (git_plain_check(&directories, err) < 0 || git_plain_check_whole(&directories, err) < 0)
		return -1;
	if (git_locate(asking->root, (const char *const *)environ, &inquiry.git, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	free(inquiry.git.top);
	inquiry.git.top = xstrdup(inquiry.top);
	return answer(&inquiry, asking->ignored, err);
}

int git_ignored(const char *root, const struct strv *paths, bool *ret_ignored, struct error *err)
{
	struct asking asking = { .root = root, .paths = paths, .ignored = ret_ignored };
	int status = 0;

	asking.spots = xcalloc(paths->count + 1, sizeof(asking.spots[0]));
	for (size_t i = 0; i < paths->count; i++)
		find_spot(&asking, i);
	for (size_t i = 0; i < paths->count && status == 0; i++) {
		bool is_first = true;

		for (size_t before = i; before > 0 && is_first; before--)
			is_first = !is_same_top(&asking, before - 1, i);
		if (is_first)
			status = inquire(&asking, i, err);
	}
	free(asking.spots);
	free(asking.steps);
	return status;
}
