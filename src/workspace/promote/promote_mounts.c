/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts that were laid on the host over what a sandbox changed, since it first saw it.
 *
 * Each mount of the host is a unit of the layers from the first command on that finds it. A mount below a unit that is
 * none itself came later: what it covers is not what the sandbox saw, and what lies on it is not the sandbox's to change.
 * Whether a layer changed something there is read from the layers alone, since the host does not show it any more.
 */
#include "workspace/promote/promote_own.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/overlay.h"
#include "workspace/disk/target.h"
#include "workspace/view/view_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNTINFO_MAX (16u << 20)
#define FIELDS_BEFORE_POINT 4

/* The mount point of a line, its octal escapes (blank, tab, newline, backslash) undone; NULL when there is none. */
static char *point_of(const char *line)
{
	struct str point = STR_INIT;

	for (int i = 0; i < FIELDS_BEFORE_POINT; i++) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	for (; *line && *line != ' ' && *line != '\n'; line++) {
		if (line[0] == '\\' && strspn(line + 1, "01234567") >= 3) {
			str_add_char(&point, (char)((line[1] - '0') << 6 | (line[2] - '0') << 3 |
						    (line[3] - '0')));
			line += 3;
		} else {
			str_add_char(&point, *line);
		}
	}
	return str_detach(&point);
}

/* Whether directory FD of LAYER hides what the layers below have in it, or shows something from elsewhere. */
static bool is_marked(const struct view_stack *stack, size_t layer, int fd)
{
	char value[REDIRECT_MAX];

	return overlay_read(fd, stack->user_xattr[layer], value) != OVERLAY_MERGED;
}

/* Whether LAYER changed PATH, which is relative to its unit UNIT, or replaced a directory above it. 1, 0, or -1 with errno. */
static int layer_changed(const struct view_stack *stack, size_t layer, const char *unit,
			 const char *path)
{
	owned(fd_close) int fd = openat(stack->layer_fds[layer], unit,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0) {
		size_t len = strcspn(path, "/");
		owned(free_ptr) char *name = xstrndup(path, len);
		struct stat st;

		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT ? 0 : -1;
		if (!path[len] || !S_ISDIR(st.st_mode))
			return 1;
		int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		fd_close(&fd);
		fd = below;
		if (fd >= 0 && is_marked(stack, layer, fd))
			return 1;
		path += len + 1;
	}
	/* A directory that the sandbox closed cannot be looked into: it may hold a change. */
	return errno == EACCES ? 1 : errno == ENOENT ? 0 : -1;
}

/* The unit that PATH is or lies in; NULL: nothing of the sandbox's is there. */
static const struct layer_unit *unit_of(const struct layer_units *units, const char *path)
{
	/* The longest path is first. */
	for (size_t i = 0; i < units->count; i++)
		if (view_is_below(path, units->items[i].path))
			return &units->items[i];
	return NULL;
}

/* The unit that POINT lies in, and is not itself. */
static const struct layer_unit *unit_above(const struct layer_units *units, const char *point)
{
	const struct layer_unit *unit = unit_of(units, point);

	return unit && strcmp(point, unit->path) != 0 ? unit : NULL;
}

/* Whether the mount at POINT lies between the target and the unit that has its changes. */
static bool covers_target(const struct promote *promote, const struct layer_units *units,
			  const char *point)
{
	const struct layer_unit *unit = unit_of(units, promote->target);

	return view_is_below(promote->target, point) && unit && !view_is_below(unit->path, point);
}

/* Whether the sandbox changed what the mount at POINT lies on. 1, 0, or -1 with ERR. */
static int covers_changes(const struct promote *promote, const struct layer_units *units,
			  const char *point, struct error *err)
{
	const struct layer_unit *unit = unit_above(units, point);
	const struct view_stack *stack = promote->stack;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; unit && i < stack->count; i++) {
		int changed =
			layer_changed(stack, i, unit->name, target_relative(unit->path, point));

		if (changed > 0)
			return 1;
		if (changed < 0)
			return error_errno(err, ERROR_HOST, "cannot look at the layers for '%s'",
					   str_shown(point, shown));
	}
	return 0;
}

/* Whether what is asked for has to do with the mount at POINT. */
static bool is_asked_for(const struct promote *promote, const char *point)
{
	const struct strv *paths = &promote->request->paths;
	const char *relative = target_relative(promote->target, point);

	if (paths->count == 0 || !relative || !*relative)
		return true;
	for (size_t i = 0; i < paths->count; i++) {
		owned(free_ptr) char *asked = promote_path_asked(promote, paths->items[i]);

		if (asked &&
		    (target_relative(relative, asked) || promote_matches(promote, asked, relative)))
			return true;
	}
	return false;
}

static int check_mount(struct promote *promote, const struct layer_units *units, const char *point,
		       struct error *err)
{
	const char *relative = target_relative(promote->target, point);
	struct item mount = { .path = relative && *relative ? relative : point };
	int covers;

	/* A mount elsewhere has nothing to do with the target. Of a HOME that is one, the sandbox may have seen only a part. */
	if (!relative && !covers_target(promote, units, point))
		return 0;
	covers = is_asked_for(promote, point) ? covers_changes(promote, units, point, err) : 0;
	if (covers > 0) {
		mount.place = mount.path;
		promote_add_conflict(promote, &mount, "mount-point");
	}
	return covers < 0 ? -1 : 0;
}

int promote_find_mounts(struct promote *promote, struct error *err)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	char shown[STR_SHOWN_SIZE];

	if (!promote->is_workspace || promote->request->into_sandbox)
		return 0;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, MOUNTINFO_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "/proc/self/mountinfo");
	if (view_units(promote->stack, &units, err) < 0)
		return -1;
	for (const char *line = str_cstr(&text); *line;) {
		owned(free_ptr) char *point = point_of(line);

		if (check_mount(promote, &units, point, err) < 0)
			return -1;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	if (promote->promotion->conflict_count == 0)
		return 0;
	return error_advise(
		err, ERROR_CONFLICT, "unmount it, or promote the other changes by their paths",
		"'%s' is a mount that came after the sandbox had changed what it covers",
		str_shown(promote->promotion->conflicts[0].path, shown));
}
