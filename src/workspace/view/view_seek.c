/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One name looked up through the layers, as the kernel does it (ovl_lookup).
 *
 * Marks of the base mean nothing. A mark that no kernel writes ends the directory there and is reported: what such a layer
 * shows cannot be known, so it may be listed but not promoted.
 */
#include "base/core/own.h"
#include "workspace/disk/overlay.h"
#include "workspace/view/view_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* A lookup under way. */
struct seeking {
	const struct view_seek *seek;
	struct view_found *found;
	struct str name; /* as redirects left it; a leading slash: from the unit's root */
	bool is_dir, is_renamed, is_split_seen, stop;
};

static struct view_path *path_copy(const struct view_source *at)
{
	struct view_path *path = xcalloc(1, sizeof(*path));

	str_add_bytes(&path->text, at->path->text.data, at->len);
	return path;
}

struct view_source view_source_below(const struct view_source *at, const char *name, int fd,
				     const struct view_stat *stat, bool copy)
{
	struct view_path *path = copy ? path_copy(at) : at->path;

	str_truncate(&path->text, at->len);
	str_add_char(&path->text, '/');
	str_add(&path->text, name);
	path->users++;
	return (struct view_source){
		.fd = fd,
		.layer = at->layer,
		.path = path,
		.len = path->text.len,
		.parent = SIZE_MAX,
		.dev = stat->st.st_dev,
		.ino = stat->st.st_ino,
	};
}

void view_source_done(struct view_source *source)
{
	fd_close(&source->fd);
	if (source->path && --source->path->users == 0) {
		str_done(&source->path->text);
		free(source->path);
	}
	source->path = NULL;
}

void view_dir_done(struct view_dir *dir)
{
	for (size_t i = 0; i < dir->count; i++)
		view_source_done(&dir->items[i]);
	free(dir->items);
	*dir = (struct view_dir){ 0 };
}

void view_found_done(struct view_found *found)
{
	view_dir_done(&found->dir);
	free(found->split_name);
	*found = (struct view_found){ 0 };
}

/*
 * Reads the marks of directory FD, found as a part of the name that ends REST bytes before its end and is PART_LEN
 * long: what is looked up below, if anything.
 */
static int read_marks(struct seeking *at, const struct view_source *dir, size_t part_len,
		      size_t rest)
{
	bool is_user = at->seek->root->stack->user_xattr[dir->layer];
	char value[REDIRECT_MAX];

	switch (overlay_read(dir->fd, is_user, value)) {
	case OVERLAY_UNKNOWN:
		return -1;
	case OVERLAY_MERGED:
		break;
	case OVERLAY_OPAQUE:
		at->stop = true;
		at->found->is_opaque |= rest == 0 && at->found->dir.count == 0;
		break;
	case OVERLAY_FORGED:
		at->stop = true;
		at->found->is_forged = true;
		break;
	case OVERLAY_REDIRECT:
		at->is_renamed = true;
		at->stop &= value[0] != '/';
		redirect_apply(&at->name, part_len, rest, value);
	}
	return 0;
}

static void add_source(struct seeking *at, struct view_source source, const struct view_stat *stat)
{
	struct view_found *found = at->found;
	struct view_dir *dir = &found->dir;

	if (source.layer >= at->seek->split &&
	    (dir->count == 0 || dir->items[dir->count - 1].layer < at->seek->split))
		found->split_stat = *stat;
	dir->items = xrealloc(dir->items, dir->count + 1, sizeof(*dir->items));
	dir->items[dir->count++] = source;
}

/* The first that has the name decides what it is. */
static void note_top(struct seeking *at, size_t where, const struct view_stat *stat)
{
	struct view_found *found = at->found;

	if (found->exists)
		return;
	found->exists = true;
	found->where = where;
	found->layer = at->seek->dir->items[where].layer;
	found->stat = *stat;
}

/*
 * One part of a name, PART_LEN long and REST bytes before the name's end, in directory DIR. 1 and the directory when it
 * is one, 0 when there is nothing to go on with, -1 with errno.
 */
static int step(struct seeking *at, const struct view_source *dir, const char *part, size_t rest,
		struct view_source *ret_source, struct view_stat *ret_stat)
{
	const struct view_root *root = at->seek->root;
	enum view_probe probe = view_probe(root, dir, part, ret_stat);
	bool copy = at->seek->is_path_kept || (at->name.data[0] == '/' && dir->len == 0);

	if (probe == VIEW_PROBE_FAILED && errno != EACCES)
		return -1;
	if (probe == VIEW_PROBE_FAILED) {
		/* Its directory is closed: whether it is there is not known, and what lies below is not it. */
		at->found->is_closed = true;
		at->stop = true;
		return 0;
	}
	if (probe == VIEW_PROBE_ABSENT)
		return 0;
	if (probe == VIEW_PROBE_WHITEOUT || !S_ISDIR(ret_stat->st.st_mode)) {
		at->stop = true;
		return 0;
	}
	int fd = view_open_directory(root, dir, part);
	size_t part_len = strlen(part);

	if (fd < 0 && !view_is_nothing(errno))
		return -1;
	if (fd < 0) {
		/* It is there, but its contents are unknown. */
		at->found->is_closed = true;
		at->stop = true;
		return rest == 0 ? 2 : 0;
	}
	*ret_source = view_source_below(dir, part, fd, ret_stat, copy);
	if (dir->layer < root->stack->count && read_marks(at, ret_source, part_len, rest) < 0) {
		int errnum = errno;

		view_source_done(ret_source);
		errno = errnum;
		return -1;
	}
	return 1;
}

/* A path from the unit's root, in one layer. The prefix may change on the way, what is left to go does not. */
static int follow_path(struct seeking *at, const struct view_source *root)
{
	owned(free_ptr) char *name = xstrdup(at->name.data);
	struct view_source here = *root;
	struct view_stat stat;
	int status = 0;

	for (char *part = name + 1; part;) {
		char *slash = strchr(part, '/');
		size_t rest = slash ? strlen(slash) : 0;
		struct view_source next;

		if (slash)
			*slash = '\0';
		status = step(at, &here, part, rest, &next, &stat);
		if (here.fd != root->fd)
			view_source_done(&here);
		if (status != 1)
			return status < 0 ? -1 : 0;
		here = next;
		part = slash ? slash + 1 : NULL;
	}
	add_source(at, here, &stat);
	return 0;
}

/* One name in one source of the directory. */
static int follow_name(struct seeking *at, size_t where)
{
	const struct view_source *dir = &at->seek->dir->items[where];
	struct view_source source = { .fd = -1 };
	struct view_stat stat = { 0 };
	int status = step(at, dir, at->name.data, 0, &source, &stat);

	if (status <= 0) {
		/* Something else than a directory counts when it is the first. */
		if (status == 0 && at->stop && stat.st.st_mode)
			note_top(at, where, &stat);
		return status;
	}
	at->is_dir = true;
	note_top(at, where, &stat);
	if (status == 1) {
		source.parent = where;
		add_source(at, source, &stat);
	}
	return 0;
}

static void note_split(struct seeking *at, size_t layer)
{
	if (at->is_split_seen || layer < at->seek->split)
		return;
	at->is_split_seen = true;
	at->found->is_plain = !at->is_renamed;
	if (at->is_renamed)
		at->found->split_name = xstrdup(at->name.data);
}

/* From the unit's root, in the layers below LAYER. */
static int seek_path(struct seeking *at, size_t layer)
{
	const struct view_dir *root = &at->seek->root->dir;

	for (size_t i = 0; i < root->count && !at->stop; i++) {
		if (root->items[i].layer <= layer)
			continue;
		note_split(at, root->items[i].layer);
		if (follow_path(at, &root->items[i]) < 0)
			return -1;
	}
	return 0;
}

static int seek_name(struct seeking *at)
{
	const struct view_dir *dir = at->seek->dir;

	for (size_t i = at->seek->first; i < dir->count && !at->stop; i++) {
		note_split(at, dir->items[i].layer);
		if (follow_name(at, i) < 0)
			return -1;
		if (!at->stop && at->name.data[0] == '/')
			return seek_path(at, dir->items[i].layer);
	}
	return 0;
}

int view_seek(const struct view_seek *seek, struct view_found *ret_found)
{
	struct seeking at = { .seek = seek, .found = ret_found };

	*ret_found = (struct view_found){ 0 };
	str_add(&at.name, seek->name);
	int status = seek_name(&at);

	if (status == 0 && !at.stop)
		note_split(&at, SIZE_MAX);
	str_done(&at.name);
	if (status < 0) {
		int errnum = errno;

		view_found_done(ret_found);
		errno = errnum;
	}
	return status;
}
