/* SPDX-License-Identifier: Apache-2.0 */
/* What a view shows, for what is put into it: one path as a side of a bundle, and whether links lead to it. */
#include "app/stage/fill.h"

#include "base/core/own.h"
#include "workspace/disk/digest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fill_look(const struct view_stack *stack, const char *path, enum view_kind *ret_kind,
	      struct bundle_side *ret_side, int *ret_fd, struct error *err)
{
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	char link[PATH_MAX];
	ssize_t len;

	*ret_fd = -1;
	if (view_lookup(stack, 0, path, &object, err) < 0)
		return -1;
	*ret_kind = object.kind;
	if (object.kind == VIEW_ABSENT)
		return 0;
	ret_side->type = S_ISREG(object.st.st_mode)   ? 'f'
			 : S_ISDIR(object.st.st_mode) ? 'd'
			 : S_ISLNK(object.st.st_mode) ? 'l'
						      : '?';
	ret_side->mode = ret_side->type == 'l' ? 0 : object.st.st_mode & 07777;
	if (ret_side->type == 'l') {
		len = readlinkat(object.dir_fd, object.name, link, sizeof(link) - 1);
		if (len < 0)
			return error_errno(err, ERROR_HOST, "%s", path);
		ret_side->link = xstrndup(link, (size_t)len);
	}
	if (ret_side->type == 'f' &&
	    ((*ret_fd = view_open_file(&object)) < 0 || digest_fd(*ret_fd, ret_side->sha256) < 0))
		return error_errno(err, ERROR_HOST, "%s", path);
	return 0;
}

static int compare_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct bundle_change *)item)->path);
}

/* Whether the bundle makes a directory of the link at RELATIVE, and that goes first. */
static bool becomes_directory(const struct fill_parents *parents, const char *relative)
{
	const struct bundle *bundle = parents->bundle;
	const struct bundle_change *found = bsearch(relative, bundle->items, bundle->count,
						    sizeof(bundle->items[0]), compare_path);

	return found && found->new.type == 'd' && parents->gives_way[found - bundle->items];
}

/* A link may lead to a directory of the host that the sandbox may write to. */
int fill_check_parents(const struct fill_parents *parents, const char *path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		owned(view_object_done) struct view_object object = { .dir_fd = -1 };
		owned(free_ptr) char *above = xstrndup(path, (size_t)(slash - path));
		owned(free_ptr) char *whole = xasprintf("%s/%s", parents->workspace, above);

		if (view_lookup(parents->stack, 0, whole, &object, err) < 0)
			return -1;
		if (object.kind == VIEW_ABSENT ||
		    (S_ISLNK(object.st.st_mode) && becomes_directory(parents, above)))
			return 0;
		if (S_ISLNK(object.st.st_mode))
			return error_set(err, ERROR_DENIED, "'%s' would be written through a link",
					 str_shown(path, shown));
	}
	return 0;
}
