/* SPDX-License-Identifier: Apache-2.0 */
/* The private copy of a run's workspace, made and read back. */
#include "app/run/copied_workspace.h"

#include "base/core/own.h"
#include "spec/mask.h"
#include "workspace/store/cache.h"
#include "workspace/store/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* What credentials of the workspace are hidden is not copied, and so never seen as deleted. */
static bool shows(const char *path, void *cookie)
{
	const struct spec *spec = cookie;
	owned(free_ptr) char *whole = xasprintf("%s/%s", spec->workspace, path);

	return mask_shows(spec, whole) || mask_keeps_below(spec, whole);
}

/* Root's command has other ids than root. */
static uint32_t id_shift(const struct spec *spec)
{
	return spec->ids.count > 1 ? spec->ids.host_uid : 0;
}

static int make_directories(const struct copied_workspace *copied, const struct spec *spec,
			    struct error *err)
{
	static const char *const names[] = { "ws", "home", "tmp" };
	uid_t uid = spec->ids.host_uid + (spec->ids.count > 1 ? spec->ids.uid : 0);
	gid_t gid = spec->ids.host_gid + (spec->ids.count > 1 ? spec->ids.gid : 0);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (mkdirat(copied->area_fd, names[i], 0700) < 0 ||
		    (id_shift(spec) && fchownat(copied->area_fd, names[i], uid, gid, 0) < 0))
			return error_errno(err, ERROR_HOST, "cannot make the copy's directories");
	}
	/* Through a mount of its own, and nowhere else, root's command reaches it. */
	if (id_shift(spec) && fchmod(copied->area_fd, 0711) < 0)
		return error_errno(err, ERROR_HOST, "cannot open the copy's directory");
	return 0;
}

/* What a layer, or the top, has of the workspace. Another driver's units hold more than that, and are refused. */
static int lay_one(struct copied_workspace *copied, const struct spec *spec, int layer_fd,
		   struct error *err)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	owned(fd_close) int to_fd = openat(copied->area_fd, "ws", DIRECTORY);
	owned(fd_close) int unit_fd = -1;
	char name[LAYER_UNIT_SIZE];

	layer_unit_name(spec->workspace, name);
	if (layer_units_read(layer_fd, &units, err) < 0)
		return -1;
	for (size_t i = 0; i < units.count; i++) {
		if (strcmp(units.items[i].name, name) != 0)
			return error_set(
				err, ERROR_DENIED,
				"the sandbox '%s' was written to by the linux driver: use that",
				spec->sandbox);
	}
	unit_fd = openat(layer_fd, name, DIRECTORY);
	if (unit_fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_HOST, "a layer's unit");
	return private_copy_lay(&copied->copy, to_fd, unit_fd, !root_is_idmapped(spec->root), err);
}

static int lay_layers(struct copied_workspace *copied, const struct spec *spec, int upper_fd,
		      struct error *err)
{
	for (size_t i = spec->layers.count; i-- > 0;) {
		owned(fd_close) int fd = open(spec->layers.items[i], DIRECTORY);

		if (fd < 0)
			return error_errno(err, ERROR_HOST, "a layer of the sandbox");
		if (lay_one(copied, spec, fd, err) < 0)
			return -1;
	}
	return upper_fd < 0 ? 0 : lay_one(copied, spec, upper_fd, err);
}

static int copy_workspace(struct copied_workspace *copied, const struct spec *spec, int upper_fd,
			  struct error *err)
{
	owned(fd_close) int to_fd = openat(copied->area_fd, "ws", DIRECTORY);
	owned(fd_close) int from_fd =
		spec->workspace_made ? -1
				     : open(spec->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct private_copy_make make = {
		.from_fd = from_fd, .to_fd = to_fd, .id_shift = id_shift(spec), .shows = shows
	};

	/* The callbacks only read it. */
	make.cookie = (void *)(uintptr_t)spec;
	if (to_fd < 0 || (from_fd < 0 && !spec->workspace_made))
		return error_errno(err, ERROR_HOST, "%s", spec->workspace);
	copied->copy.id_shift = make.id_shift;
	if (from_fd >= 0 && private_copy_make(&make, &copied->copy, err) < 0)
		return -1;
	if (lay_layers(copied, spec, upper_fd, err) < 0)
		return -1;
	return private_copy_settle(&copied->copy, to_fd, err);
}

int copied_workspace_begin(struct copied_workspace *ret_copied, struct spec *spec, int upper_fd,
			   struct strv *notes, struct error *err)
{
	*ret_copied = (struct copied_workspace){ .area_fd = -1 };
	if (store_open(spec->store_dir, &ret_copied->store, err) < 0)
		return -1;
	ret_copied->has_store = true;
	cache_collect_tops(&ret_copied->store);
	if (cache_top_make(&ret_copied->store, spec->run_id, &spec->copy_dir, &ret_copied->area_fd,
			   err) < 0 ||
	    make_directories(ret_copied, spec, err) < 0 ||
	    copy_workspace(ret_copied, spec, upper_fd, err) < 0) {
		copied_workspace_end(ret_copied, spec);
		return -1;
	}
	store_unlock(&ret_copied->store);
	if (ret_copied->copy.unread > 0)
		strv_add(notes, "what you may not read of the workspace is not in its copy");
	return 0;
}

/* The workspace's own unit NAME in TOP_FD. 1 where it was made now, 0, or -1. */
static int open_unit(const struct spec *spec, int top_fd, const char *name, int *ret_fd,
		     struct error *err)
{
	bool is_new;

	if (layer_units_add(top_fd, spec->workspace, err) < 0)
		return -1;
	is_new = mkdirat(top_fd, name, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make the unit of a layer");
	/* An earlier command may have shut it. */
	if (fchmodat(top_fd, name, 0700, 0) == 0)
		*ret_fd = openat(top_fd, name, DIRECTORY);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "cannot open the unit of a layer")
			   : is_new;
}

int copied_workspace_fold(struct copied_workspace *copied, const struct spec *spec, int top_fd,
			  struct error *err)
{
	owned(fd_close) int copy_fd = -1, unit_fd = -1;
	char name[LAYER_UNIT_SIZE];
	struct stat st;
	int is_new;

	/* The command may have shut its own directory. */
	if (fstatat(copied->area_fd, "ws", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	    fchmodat(copied->area_fd, "ws", (st.st_mode & 07777) | 0700, 0) == 0)
		copy_fd = openat(copied->area_fd, "ws", DIRECTORY);
	if (copy_fd < 0)
		return error_errno(err, ERROR_HOST, "the copy of the workspace");
	layer_unit_name(spec->workspace, name);
	is_new = open_unit(spec, top_fd, name, &unit_fd, err);
	if (is_new < 0)
		return -1;
	if (private_copy_fold(&copied->copy, copy_fd, unit_fd, !root_is_idmapped(spec->root), err) <
	    0) {
		/* A new sandbox goes with the failure: what was moved into it stays beside the copy. */
		if (is_new)
			(void)renameat(top_fd, name, copied->area_fd, "changed");
		return -1;
	}
	return fchmod(unit_fd, st.st_mode & 07777) < 0
		       ? error_errno(err, ERROR_HOST, "the mode of the workspace")
		       : 0;
}

void copied_workspace_leave(struct copied_workspace *copied, const struct spec *spec,
			    struct error *err)
{
	owned(free_ptr) char *path = NULL;
	struct error ignored;

	if (store_relock(&copied->store, &ignored) == 0)
		path = cache_top_leave(&copied->store, spec->run_id);
	if (path)
		(void)error_add_hint(err, "its copy is left in %s", path);
	store_unlock(&copied->store);
}

void copied_workspace_end(struct copied_workspace *copied, const struct spec *spec)
{
	struct error ignored;

	private_copy_done(&copied->copy);
	if (copied->area_fd >= 0 && store_relock(&copied->store, &ignored) == 0)
		cache_top_remove(&copied->store, spec->run_id);
	fd_close(&copied->area_fd);
	if (copied->has_store)
		store_close(&copied->store);
	copied->has_store = false;
}
