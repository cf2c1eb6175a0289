/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of tools in the caller's home: which are there, and which credentials lie in them. */
#include "app/prepare/home_tools.h"

#include "base/text/clean_path.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/wildcard.h"
#include "plan/mask_list.h"
#include "workspace/disk/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* From this many on directories are hidden as a whole: each credential by itself costs every start some time. */
#define MATCHES_MAX 256u
/* As many are read to find them; one more is hidden as a whole. */
#define DIRECTORIES_MAX 512u

/* A look at a home, as it goes on. */
struct look {
	const char *home;
	int home_fd;
	struct plan_tools *tools;
	struct strv links;    /* names of links in the places of directories */
	unsigned matches;     /* of patterns, up to now */
	unsigned directories; /* read for them */
};

static void look_done(struct look *look)
{
	fd_close(&look->home_fd);
	strv_done(&look->links);
}

/* Whether NAME is there and no link is on the way to it; errno is ELOOP when one is. */
static bool is_plain(const struct look *look, const char *name, int flags)
{
	owned(fd_close) int fd = sys_open_beneath(look->home_fd, name, O_PATH | flags);

	return fd >= 0;
}

static void add_tool(struct look *look, const char *name)
{
	if (strv_has(&look->tools->shown, name))
		return;
	if (is_plain(look, name, O_DIRECTORY))
		strv_add(&look->tools->shown, name);
	else if (errno == ELOOP)
		strv_add(&look->links, name);
}

/* Where NAME really is, in PATH_MAX bytes; false when it is nowhere. */
static bool resolve(const struct look *look, const char *name, char *ret_path)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s", look->home, name);

	return len > 0 && (size_t)len < sizeof(path) && path_real_into(path, ret_path);
}

/* Whether the directory that NAME lies in has no link on the way to it. */
static bool is_in_plain(const struct look *look, const char *name)
{
	const char *slash = strrchr(name, '/');
	owned(free_ptr) char *parent = slash ? xstrndup(name, (size_t)(slash - name)) : NULL;

	return !parent || is_plain(look, parent, O_DIRECTORY);
}

/* Only a link in the very place: what lies behind a link further up has another name than the table's. */
static void add_links(struct look *look)
{
	struct strv *shown = &look->tools->shown;
	const size_t count = shown->count;
	char target[PATH_MAX];

	for (size_t i = 0; i < look->links.count; i++) {
		const char *name = look->links.items[i];
		/* Directories alone say what is shown; a link that leads to another one does not. */
		const struct strv directories = { .items = shown->items, .count = count };

		if (is_in_plain(look, name) && resolve(look, name, target) &&
		    plan_tool_may_lead(look->home, &directories, target))
			strv_add(shown, name);
	}
}

static bool is_link(const struct look *look, const char *name)
{
	struct stat st;

	return fstatat(look->home_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* A mask below a link would be made where the link leads; what is there is hidden by its own name instead. */
static void hide_behind(struct look *look, const char *name)
{
	owned(free_ptr) char *above = xstrdup(name);
	char target[PATH_MAX];

	for (char *slash = above + strlen(above); slash; slash = strrchr(above, '/')) {
		*slash = '\0';
		if (!resolve(look, above, target))
			continue;
		const char *rest = name + strlen(above);

		strv_addf(&look->tools->targets, "%s%s", target, rest);
		return;
	}
}

/* NAME has at most a pattern as its last part. */
static void hide(struct look *look, const char *name)
{
	if (strchr(name, '*') ? is_in_plain(look, name)
			      : is_plain(look, name, 0) || errno != ELOOP) {
		strv_add(&look->tools->hidden, name);
		return;
	}
	if (!strchr(name, '*') && is_link(look, name) && is_in_plain(look, name))
		strv_add(&look->tools->hidden, name);
	hide_behind(look, name);
}

/* Length of NAME up to the end of its first part that is a pattern; 0: only the last part may be one. */
static size_t pattern_len(const char *name)
{
	const char *star = strchr(name, '*'), *slash = star ? strchr(star, '/') : NULL;

	return slash ? (size_t)(slash - name) : 0;
}

static void hide_matches(struct look *look, const struct strv *names);

/* Hides what NAMES, equal up to LEN, stand for when that beginning is PATH; false when it is too much. */
static bool hide_in(struct look *look, const char *path, const struct strv *names, size_t len)
{
	owned(strv_done) struct strv found = STRV_INIT;
	struct stat st;

	for (size_t i = 0; i < names->count; i++) {
		owned(free_ptr) char *name = xasprintf("%s%s", path, names->items[i] + len);

		if (!strchr(names->items[i] + len, '*')) {
			if (fstatat(look->home_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			if (++look->matches > MATCHES_MAX)
				return false;
		}
		strv_take(&found, ptr_take(&name));
	}
	hide_matches(look, &found);
	return true;
}

/* The first pattern of all NAMES is the same, and stands for entries of the same directory: that is read once. */
static void hide_entries(struct look *look, const struct strv *names)
{
	size_t len = pattern_len(names->items[0]);
	owned(free_ptr) char *dir_name = xstrndup(names->items[0], len);
	char *match = strrchr(dir_name, '/');

	*match++ = '\0';
	int fd = sys_open_beneath(look->home_fd, dir_name, O_RDONLY | O_DIRECTORY);

	/* Behind a link the names are others: all of it is hidden. */
	if (fd < 0 && errno == ELOOP)
		hide_behind(look, dir_name);
	owned(dir_close) DIR *dir = fd < 0 ? NULL : dir_take(&fd);
	bool is_too_much = dir && ++look->directories > DIRECTORIES_MAX;
	struct dirent *entry;

	while (!is_too_much && dir_next(dir, &entry) > 0) {
		if (entry->d_type == DT_REG || !wildcard_matches(match, entry->d_name, 0))
			continue;
		owned(free_ptr) char *path = xasprintf("%s/%s", dir_name, entry->d_name);

		is_too_much = !hide_in(look, path, names, len);
	}
	if (is_too_much)
		strv_add(&look->tools->hidden, dir_name);
}

/* Hides what NAMES, credentials of the table, stand for now. They are sorted as there: equal beginnings are neighbours. */
static void hide_matches(struct look *look, const struct strv *names)
{
	for (size_t i = 0, end; i < names->count; i = end) {
		size_t len = pattern_len(names->items[i]);

		end = i + 1;
		if (len == 0) {
			hide(look, names->items[i]);
			continue;
		}
		while (end < names->count && pattern_len(names->items[end]) == len &&
		       strncmp(names->items[i], names->items[end], len) == 0)
			end++;
		const struct strv alike = { .items = names->items + i, .count = end - i };

		hide_entries(look, &alike);
	}
}

static void hide_credentials(struct look *look)
{
	for (size_t i = 0; i < look->tools->shown.count; i++) {
		owned(strv_done) struct strv names = STRV_INIT;

		plan_tool_secrets(look->tools->shown.items[i], &names);
		hide_matches(look, &names);
	}
}

int home_tools_read(const char *home, const struct strv *words, struct plan_tools *ret_tools,
		    struct error *err)
{
	owned(look_done) struct look look = { .home = home,
					      .home_fd =
						      open(home, O_PATH | O_DIRECTORY | O_CLOEXEC),
					      .tools = ret_tools };
	owned(strv_done) struct strv names = STRV_INIT;

	if (plan_home_tools(words, home, &names, err) < 0)
		return -1;
	if (look.home_fd < 0)
		return 0;
	for (const char *const *name = mask_home_kept; *name; name++)
		add_tool(&look, *name);
	for (size_t i = 0; i < names.count; i++)
		add_tool(&look, names.items[i]);
	add_links(&look);
	hide_credentials(&look);
	return 0;
}

void home_tools_done(struct plan_tools *tools)
{
	strv_done(&tools->shown);
	strv_done(&tools->hidden);
	strv_done(&tools->targets);
}
