/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file or directory of the view copied to a place of the host: a product of the sandbox, not a change of the workspace.
 *
 * Its entries are those the sandbox changed, and those of the host that shine through; where something stands already
 * it is replaced, and comes back with an undo.
 */
#include "workspace/promote/promote_own.h"

#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES_MAX 4000000u

struct artifact {
	struct promote *promote;
	char *source; /* absolute */
	char *goal;   /* absolute, where the artifact itself goes */
};

/* The last name of a path without slashes at its end. */
static char *last_name(const char *path)
{
	size_t len = strlen(path);
	const char *start;

	while (len > 1 && path[len - 1] == '/')
		len--;
	start = memrchr(path, '/', len);
	start = start ? start + 1 : path;
	return xstrndup(start, (size_t)(path + len - start));
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* An absolute path without "." and doubled slashes; ".." is refused: it means different things on the two sides. */
static char *clean(const char *above, const char *path, struct error *err)
{
	owned(str_done) struct str out = STR_INIT;
	owned(free_ptr) char *whole =
		path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", above, path);
	char shown[STR_SHOWN_SIZE];

	for (const char *at = whole; *at;) {
		size_t skip = strspn(at, "/"), len = strcspn(at + skip, "/");

		at += skip;
		if (len == 2 && strncmp(at, "..", 2) == 0) {
			error_set(err, ERROR_USAGE, "'%s': '..' is not taken here",
				  str_shown(path, shown));
			return NULL;
		}
		if (len > 0 && !(len == 1 && *at == '.')) {
			str_add_char(&out, '/');
			str_add_bytes(&out, at, len);
		}
		at += len;
	}
	if (out.len == 0)
		str_add_char(&out, '/');
	return str_detach(&out);
}

/*
 * Climbs from HERE, the caller's directory by its real name, as far as PATH begins with "..", and gives the rest. Behind a
 * name ".." could lead through a link, and is left to be refused.
 */
static const char *climb(char *here, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");
		bool is_up = len == 2 && strncmp(path, "..", 2) == 0;

		if (!is_up && !(len == 1 && *path == '.'))
			return path;
		if (is_up)
			*strrchr(here, '/') = '\0';
		if (!*here)
			(void)memcpy(here, "/", 2);
		path += len;
		path += strspn(path, "/");
	}
}

/* PATH as an absolute one, from where the caller is; NULL with an error. */
static char *goal_of(const char *path, struct error *err)
{
	owned(free_ptr) char *here = *path == '/' ? xstrdup("/") : getcwd(NULL, 0);
	char shown[STR_SHOWN_SIZE];

	if (here && *here == '/')
		return clean(here, *path == '/' ? path : climb(here, path), err);
	error_advise(err, ERROR_HOST, "change to one that is there, or write the whole path",
		     "'%s' says nothing here: the current directory was removed",
		     str_shown(path, shown));
	return NULL;
}

static int set_places(struct artifact *artifact, struct error *err)
{
	const struct promote_request *request = artifact->promote->request;
	owned(free_ptr) char *goal = NULL, *name = NULL;

	if (!request->to || !*request->to) {
		error_set(err, ERROR_USAGE, "--artifact needs --to: where it should go");
		return -1;
	}
	artifact->source = clean(artifact->promote->sandbox->workspace, request->artifact, err);
	goal = artifact->source ? goal_of(request->to, err) : NULL;
	if (!goal)
		return -1;
	name = last_name(artifact->source);
	if (str_ends(request->to, "/") || is_directory(goal))
		artifact->goal = xasprintf("%s/%s", strcmp(goal, "/") == 0 ? "" : goal, name);
	else
		artifact->goal = ptr_take(&goal);
	return 0;
}

/* Makes the directory nearest to the goal that is there the target, and the goal a path below its real name. */
static int set_suggested_target(struct artifact *artifact, struct error *err)
{
	struct promote *promote = artifact->promote;
	owned(free_ptr) char *above = xstrdup(artifact->goal), *rest = NULL;

	for (char *slash; (slash = strrchr(above, '/'));) {
		*slash = '\0';
		if (is_directory(*above ? above : "/"))
			break;
	}
	promote->target = path_real(*above ? above : "/");
	if (!promote->target)
		return error_errno(err, ERROR_HOST, "%s", artifact->goal);
	rest = xstrdup(artifact->goal + strlen(above));
	free(artifact->goal);
	artifact->goal =
		xasprintf("%s%s", strcmp(promote->target, "/") == 0 ? "" : promote->target, rest);
	return 0;
}

/* The workspace when the goal lies in it, else the directory nearest to the goal that is there. */
static int set_target(struct artifact *artifact, struct error *err)
{
	struct promote *promote = artifact->promote;
	const char *workspace = promote->sandbox->workspace;
	const char *inside = target_relative(workspace, artifact->goal);

	if (inside && *inside)
		promote->target = xstrdup(workspace);
	else if (set_suggested_target(artifact, err) < 0)
		return -1;
	return promote_open_target(promote, err);
}

static int compare_entry(const void *path, const void *entry)
{
	return strcmp(path, ((const struct delta_entry *)entry)->path);
}

static const struct delta_entry *find_change(const struct promote *promote, const char *path)
{
	return promote->delta.count == 0 ? NULL
					 : bsearch(path, promote->delta.items, promote->delta.count,
						   sizeof(struct delta_entry), compare_entry);
}

/* The item of one object of the view, as if the sandbox had added it at its goal. */
static void add_object(struct artifact *artifact, const char *goal, const struct delta_side *side)
{
	struct promote *promote = artifact->promote;
	struct item *item;

	if ((promote->count & (promote->count - 1)) == 0)
		promote->items = xrealloc(promote->items, promote->count ? promote->count * 2 : 1,
					  sizeof(struct item));
	strv_add(&promote->texts, target_relative(promote->target, goal));
	item = &promote->items[promote->count++];
	*item = (struct item){
		.entry = { .op = DELTA_ADDED, .new = *side },
		.path = promote->texts.items[promote->texts.count - 1],
		.place = promote->texts.items[promote->texts.count - 1],
		.twin = NO_ITEM,
		.carrier = NO_ITEM,
		.staged = NO_ITEM,
		.is_selected = true,
		.fate = FATE_APPLIED,
		.verdict = { .object = TAKE_THEIRS },
	};
}

static void add_at(struct artifact *artifact, const char *path, const struct delta_side *side)
{
	owned(free_ptr) char *goal =
		xasprintf("%s%s", artifact->goal, path + strlen(artifact->source));

	add_object(artifact, goal, side);
}

static int cannot_read(const char *path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_errno(err, ERROR_HOST, "cannot read '%s'", str_shown(path, shown));
}

/* An object of the host that the sandbox sees as it is. 1, 0 when there is none, or -1: what cannot be read is not absent. */
static int add_base(struct artifact *artifact, const char *path, struct error *err)
{
	struct promote *promote = artifact->promote;
	const struct view_stack *stack = promote->stack;
	struct delta_side side = { .exists = true, .layer = stack->count };
	char link[4097];
	ssize_t len;

	if (stack->shows && !stack->shows(path, stack->cookie))
		return 0;
	if (lstat(path, &side.st) < 0)
		return view_is_nothing(errno) ? 0 : cannot_read(path, err);
	strv_add(&promote->texts, path);
	side.layer_path = promote->texts.items[promote->texts.count - 1];
	len = S_ISLNK(side.st.st_mode) ? readlink(path, link, sizeof(link) - 1) : 0;
	if (len < 0)
		return cannot_read(path, err);
	if (len > 0) {
		strv_take(&promote->texts, xstrndup(link, (size_t)len));
		side.link = promote->texts.items[promote->texts.count - 1];
	}
	add_at(artifact, path, &side);
	return 1;
}

/* What the host has in directory PATH, as far as the sandbox left it alone. */
static int list_base(struct artifact *artifact, const char *path, struct strv *ahead,
		     struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, path);
	struct dirent *entry;
	int got;

	/* The artifact is a file, or the host has no such directory. */
	if (!dir && (errno == ENOTDIR || errno == ENOENT || errno == ELOOP))
		return 0;
	while ((got = dir_next(dir, &entry)) > 0) {
		owned(free_ptr) char *below = xasprintf("%s/%s", path, entry->d_name);
		const struct delta_entry *change = find_change(artifact->promote, below);
		int shown = change ? change->new.exists &&S_ISDIR(change->new.st.st_mode)
				   : add_base(artifact, below, err);

		if (shown < 0)
			return -1;
		if (shown && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			strv_take(ahead, ptr_take(&below));
	}
	return got < 0 ? cannot_read(path, err) : 0;
}

static int list_objects(struct artifact *artifact, struct error *err)
{
	struct promote *promote = artifact->promote;
	struct delta_options options = { .workspace = promote->sandbox->workspace,
					 .sandbox = promote->sandbox,
					 .old_from = promote->stack->count,
					 .expand = true };
	const struct delta_entry *change;
	owned(strv_done) struct strv ahead = STRV_INIT;
	char shown[STR_SHOWN_SIZE];
	int found;

	if (delta_read(promote->stack, &options, &promote->delta, err) < 0)
		return -1;
	if (promote->delta.is_partial)
		return error_set(err, ERROR_DENIED, "more changed than could be looked at");
	change = find_change(promote, artifact->source);
	found = change ? change->new.exists : add_base(artifact, artifact->source, err);
	if (found < 0)
		return -1;
	if (!found)
		return error_set(err, ERROR_NOT_FOUND, "there is no '%s' in the sandbox",
				 str_shown(artifact->source, shown));
	for (size_t i = 0; i < promote->delta.count; i++)
		if (promote->delta.items[i].new.exists &&
		    target_relative(artifact->source, promote->delta.items[i].path))
			add_at(artifact, promote->delta.items[i].path,
			       &promote->delta.items[i].new);
	strv_add(&ahead, artifact->source);
	for (size_t i = 0; i < ahead.count && promote->count < ENTRIES_MAX; i++)
		if (list_base(artifact, ahead.items[i], &ahead, err) < 0)
			return -1;
	if (promote->count >= ENTRIES_MAX)
		return error_set(err, ERROR_DENIED, "more than %u files for one artifact",
				 ENTRIES_MAX);
	return 0;
}

/* Directories on the way to the goal that are not there yet: the caller's, as mkdir would make them. */
static void add_parents(struct artifact *artifact)
{
	struct promote *promote = artifact->promote;
	struct delta_side side = { .exists = true, .layer = promote->stack->count };
	owned(free_ptr) char *above = xstrdup(artifact->goal);

	side.st.st_mode = S_IFDIR | 0755;
	side.st.st_uid = geteuid();
	side.st.st_gid = getegid();
	(void)clock_gettime(CLOCK_REALTIME, &side.st.st_mtim);
	for (char *slash; (slash = strrchr(above, '/')) && slash > above;) {
		const char *relative;

		*slash = '\0';
		relative = target_relative(promote->target, above);
		if (!relative || !*relative || is_directory(above))
			break;
		add_object(artifact, above, &side);
	}
}

/* What stands at the goal is replaced; but a directory is not taken for a file, nor a file for a directory. */
static int judge_object(struct promote *promote, struct item *item, struct error *err)
{
	bool is_directory = S_ISDIR(item->entry.new.st.st_mode);
	owned(fd_close) int parent_fd = -1;
	char shown[STR_SHOWN_SIZE];
	const char *name;

	if (target_parent(promote->target_fd, item->path, &parent_fd, &name) < 0 && errno == ELOOP)
		return error_set(err, ERROR_CONFLICT,
				 "'%s' leads through a symbolic link: say --to with the directory "
				 "that it leads to",
				 str_shown(item->path, shown));
	if (target_see(promote->target_fd, item->path, &item->now, err) < 0)
		return -1;
	if (item->now.exists && promote->request->keeps_existing)
		return error_advise(err, ERROR_CONFLICT, "--force replaces it",
				    "%s is there already", str_shown(item->path, shown));
	if (item->now.exists && is_directory && target_type(&item->now) == 'd')
		item->fate = FATE_LEFT;
	else if (item->now.exists && is_directory != (target_type(&item->now) == 'd'))
		return error_set(err, ERROR_CONFLICT, "'%s' is there, and is%s a directory",
				 str_shown(item->path, shown), is_directory ? " not" : "");
	return promote_compose(promote, item, err);
}

int promote_artifact(struct promote *promote, struct error *err)
{
	struct artifact artifact = { .promote = promote };
	int status = set_places(&artifact, err);

	if (status == 0)
		status = set_target(&artifact, err);
	if (status == 0)
		status = list_objects(&artifact, err);
	if (status == 0) {
		add_parents(&artifact);
		promote->promotion->goal = xstrdup(artifact.goal);
	}
	free(artifact.source);
	free(artifact.goal);
	if (status < 0)
		return -1;
	promote_link_items(promote);
	for (size_t i = 0; i < promote->count; i++)
		if (judge_object(promote, &promote->items[i], err) < 0)
			return -1;
	if (promote_refuse_own(promote, err) < 0 || promote_ask(promote, err) < 0 ||
	    promote_seal(promote, err) < 0 || promote_plan(promote, err) < 0)
		return -1;
	return promote_apply(promote, err);
}
