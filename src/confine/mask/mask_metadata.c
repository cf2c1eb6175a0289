/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: what a directory of the layer shows of itself: owner, mode, times, extended attributes. */
#include "confine/mask/mask_metadata.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool is_private_xattr(const char *name)
{
	return strncmp(name, "trusted.", 8) == 0 || strncmp(name, "security.", 9) == 0 ||
	       strncmp(name, "user.overlay.", 13) == 0;
}

int mask_name(const struct mask_layer *layer, const char *below, char *out, size_t size)
{
	int len = snprintf(out, size, "/proc/self/fd/%d/%s", layer->dir_fd, below);

	return len > 0 && (size_t)len < size ? 0 : -1;
}

static void copy_xattrs(const struct mask_layer *layer, const char *path, const char *below)
{
	char names[1024], value[4096], target[PATH_MAX];
	ssize_t len = llistxattr(path, names, sizeof(names));

	if (len <= 0 || mask_name(layer, below, target, sizeof(target)) < 0)
		return;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		if (is_private_xattr(names + at))
			continue;
		ssize_t size = lgetxattr(path, names + at, value, sizeof(value));

		/* An attribute that does not fit the layer's filesystem is cosmetic here: not an error. */
		if (size >= 0)
			(void)lsetxattr(target, names + at, value, (size_t)size, 0);
	}
}

static uid_t shifted(const struct spec_ids *ids, uid_t id, uid_t base)
{
	return id < ids->count ? base + id : (uid_t)-1;
}

int mask_copy_owner(const struct mask_layer *layer, const struct stat *st, const char *below,
		    struct error *err)
{
	const struct spec_ids *ids = layer->ids;

	if (ids && fchownat(layer->dir_fd, below, shifted(ids, st->st_uid, ids->host_uid),
			    shifted(ids, st->st_gid, ids->host_gid), AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: owner of %s", below);
	if ((st->st_mode & 07777) != 0755 &&
	    fchmodat(layer->dir_fd, below, st->st_mode & 07777, 0) < 0)
		return error_errno(err, ERROR_HOST, "mask layer: mode of %s", below);
	return 0;
}

void mask_copy_times(const struct mask_layer *layer, const struct stat *st, const char *below)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };

	(void)utimensat(layer->dir_fd, below, times, AT_SYMLINK_NOFOLLOW);
}

int mask_copy_metadata(const struct mask_layer *layer, const char *path, const char *below,
		       struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
		return 0;
	if (mask_copy_owner(layer, &st, below, err) < 0)
		return -1;
	copy_xattrs(layer, path, below);
	mask_copy_times(layer, &st, below);
	return 0;
}
