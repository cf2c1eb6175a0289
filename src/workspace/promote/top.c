/* SPDX-License-Identifier: Apache-2.0 */
/* Writing into the writable top of a sandbox from outside, in overlay's own format. */
#include "workspace/promote/top.h"

#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAFT ".aisbx-merged"

/* The unit of the top that PATH lies in: the one with the longest path. */
static const struct layer_unit *unit_of(const struct layer_units *units, const char *path)
{
	const struct layer_unit *best = NULL;

	for (size_t i = 0; i < units->count; i++) {
		const struct layer_unit *unit = &units->items[i];

		if (target_relative(unit->path, path) &&
		    (!best || strlen(unit->path) > strlen(best->path)))
			best = unit;
	}
	return best;
}

/* Makes directory NAME in the top as the view shows it at PATH. */
static int make_directory(const struct view_stack *stack, const char *path, int dir_fd,
			  const char *name, struct error *err)
{
	struct view_object object = { .dir_fd = -1 };
	struct stage_meta meta;

	if (view_lookup(stack, 0, path, &object, err) < 0)
		return -1;
	bool is_there = object.kind != VIEW_ABSENT && S_ISDIR(object.st.st_mode);

	meta = (struct stage_meta){
		.mode = object.st.st_mode & 07777,
		.uid = object.st.st_uid,
		.gid = object.st.st_gid,
		.mtime = object.st.st_mtim,
		.set_owner = geteuid() == 0,
	};
	view_object_done(&object);
	if (!is_there)
		return error_set(err, ERROR_CONFLICT, "'%s' is no directory in the sandbox", path);
	if (stage_directory(dir_fd, name, err) < 0)
		return -1;
	return stage_finish_directory(dir_fd, name, &meta, err);
}

/* The directory of PATH in the top, made where it is missing. */
static int open_parent(const struct view_stack *stack, const char *path, const char *rest,
		       int *dir_fd, struct error *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	for (const char *slash; (slash = strchr(rest, '/')); rest = slash + 1) {
		owned(free_ptr) char *name = xstrndup(rest, (size_t)(slash - rest));
		owned(free_ptr) char *above = xstrndup(path, (size_t)(slash - path));
		int next = openat(*dir_fd, name, flags);

		if (next < 0 && errno == ENOENT) {
			if (make_directory(stack, above, *dir_fd, name, err) < 0)
				return -1;
			next = openat(*dir_fd, name, flags);
		}
		if (next < 0)
			return error_errno(err, ERROR_HOST, "cannot open '%s' in the sandbox",
					   above);
		fd_close(dir_fd);
		*dir_fd = next;
	}
	return 0;
}

int top_write_file(struct sandbox *sandbox, const struct view_stack *stack, const char *path,
		   const struct str *text, const struct stage_meta *meta, struct error *err)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	owned(fd_close) int upper_fd = -1, dir_fd = -1;
	const struct layer_unit *unit;
	const char *rest;

	if (sandbox_open_upper(sandbox, &upper_fd, err) < 0 ||
	    layer_units_read(upper_fd, &units, err) < 0)
		return -1;
	unit = unit_of(&units, path);
	if (!unit)
		return error_set(err, ERROR_NOT_FOUND,
				 "the sandbox has no top yet: run something in it first");
	rest = target_relative(unit->path, path);
	dir_fd = openat(upper_fd, unit->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the top of '%s'", sandbox->name);
	if (open_parent(stack, path, rest, &dir_fd, err) < 0)
		return -1;
	const char *name = strrchr(path, '/') + 1;

	(void)sys_unlinkat(dir_fd, DRAFT, 0);
	if (stage_bytes(dir_fd, DRAFT, str_cstr(text), text->len, meta, err) < 0)
		return -1;
	if (sys_renameat2(dir_fd, DRAFT, dir_fd, name, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot write '%s' in the sandbox", path);
	return 0;
}
