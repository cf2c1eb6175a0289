/* SPDX-License-Identifier: Apache-2.0 */
/* A path of the view, name by name. */
#include "base/core/own.h"
#include "workspace/view/view_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>

struct view_dir view_root_from(const struct view_root *root, size_t from)
{
	struct view_dir dir = root->dir;

	while (dir.count > 0 && dir.items->layer < from) {
		dir.items++;
		dir.count--;
	}
	return dir;
}

void view_place_done(struct view_place *place)
{
	view_found_done(&place->found);
	view_dir_done(&place->outer);
}

/* The unit's directory as one to look names up in: descriptors of its own. */
static int copy_dir(const struct view_dir *from, struct view_dir *ret_dir)
{
	struct view_dir dir = { .items = xcalloc(from->count + 1, sizeof(*dir.items)) };

	for (size_t i = 0; i < from->count; i++) {
		struct view_source *source = &dir.items[i];

		*source = from->items[i];
		source->fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
		source->path->users++;
		dir.count++;
		if (source->fd < 0) {
			view_dir_done(&dir);
			return -1;
		}
	}
	*ret_dir = dir;
	return 0;
}

static int take_name(const char **path, char ret_name[static 256])
{
	size_t len = strcspn(*path, "/");

	if (len > NAME_MAX || (len < 3 && strncmp(*path, "..", len) == 0)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(ret_name, *path, len);
	ret_name[len] = '\0';
	*path += len;
	*path += strspn(*path, "/");
	return 0;
}

static int find_below(const struct view_root *root, const char *path, struct view_place *place)
{
	bool is_forged = false;

	while (*path) {
		struct view_seek seek = { .root = root,
					  .dir = &place->outer,
					  .name = place->name,
					  .split = SIZE_MAX,
					  .is_path_kept = place->is_unit };

		if (!place->is_unit) {
			view_dir_done(&place->outer);
			place->outer = place->found.dir;
			place->found.dir = (struct view_dir){ 0 };
			view_found_done(&place->found);
		}
		place->is_unit = false;
		if (take_name(&path, place->name) < 0 || view_seek(&seek, &place->found) < 0)
			return -1;
		is_forged |= place->found.is_forged;
	}
	place->found.is_forged = is_forged;
	return 0;
}

int view_find(const struct view_root *root, size_t from, const char *path,
	      struct view_place *ret_place)
{
	struct view_dir dir = view_root_from(root, from);
	struct view_place place = { .is_unit = true };

	*ret_place = (struct view_place){ 0 };
	if (copy_dir(&dir, &place.outer) < 0)
		return -1;
	path += strspn(path, "/");
	if (find_below(root, path, &place) < 0) {
		int errnum = errno;

		view_place_done(&place);
		errno = errnum;
		return -1;
	}
	*ret_place = place;
	return 0;
}
