/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of directories, changed in place: mode, owner, times, extended attributes. */
#include "base/core/own.h"
#include "workspace/disk/sys.h"
#include "workspace/txn/txn_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NAMES_MAX (64u << 10)
#define VALUE_MAX (64u << 10)

void txn_attributes_done(struct txn_attributes *meta)
{
	xattr_list_done(&meta->xattrs);
}

/* Those a person sets; labels of security modules and overlay's own marks are not ours to move. */
static bool is_a_persons(const char *name)
{
	if (str_starts(name, "user.") || strcmp(name, "security.capability") == 0)
		return true;
	return str_starts(name, "system.posix_acl_") ||
	       (str_starts(name, "trusted.") && !str_starts(name, "trusted.overlay."));
}

static int read_xattrs(int fd, struct xattr_list *list)
{
	owned(free_ptr) char *names = xmalloc(NAMES_MAX);
	owned(free_ptr) char *value = xmalloc(VALUE_MAX);
	ssize_t len = flistxattr(fd, names, NAMES_MAX);

	if (len < 0)
		return errno == ENOTSUP ? 0 : -1;
	for (char *name = names; name < names + len; name += strlen(name) + 1) {
		ssize_t size = is_a_persons(name) ? fgetxattr(fd, name, value, VALUE_MAX) : -1;

		if (size < 0)
			continue;
		list->items = xrealloc(list->items, list->count + 1, sizeof(*list->items));
		struct xattr_item *item = &list->items[list->count++];

		*item = (struct xattr_item){ xstrdup(name), xmalloc((size_t)size + 1),
					     (size_t)size };
		memcpy(item->value, value, (size_t)size);
	}
	return 0;
}

int txn_meta_read(int fd, bool with_xattrs, struct txn_attributes *ret_meta)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	*ret_meta = (struct txn_attributes){
		.mode = st.st_mode & 07777,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.mtime_ns = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
		.has_xattrs = with_xattrs,
	};
	return with_xattrs ? read_xattrs(fd, &ret_meta->xattrs) : 0;
}

static const struct xattr_item *find_xattr(const struct xattr_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	}
	return NULL;
}

/* Makes the attributes those of the list: what is not in it goes. */
static int set_xattrs(int fd, const struct xattr_list *wanted)
{
	owned(xattr_list_done) struct xattr_list there = { 0 };

	if (read_xattrs(fd, &there) < 0)
		return -1;
	for (size_t i = 0; i < there.count; i++) {
		if (!find_xattr(wanted, there.items[i].name) &&
		    sys_fremovexattr(fd, there.items[i].name) < 0 && errno != ENODATA)
			return -1;
	}
	for (size_t i = 0; i < wanted->count; i++) {
		const struct xattr_item *item = &wanted->items[i],
					*now = find_xattr(&there, item->name);

		if (now && now->len == item->len && memcmp(now->value, item->value, item->len) == 0)
			continue;
		if (sys_fsetxattr(fd, item->name, item->value, item->len) < 0)
			return -1;
	}
	return 0;
}

int txn_meta_set(int fd, const struct txn_attributes *meta)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = meta->mtime_ns / 1000000000, .tv_nsec = meta->mtime_ns % 1000000000 },
	};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if ((st.st_uid != meta->uid || st.st_gid != meta->gid) &&
	    sys_fchownat(fd, "", meta->uid, meta->gid, AT_EMPTY_PATH) < 0)
		return -1;
	if (meta->has_xattrs && set_xattrs(fd, &meta->xattrs) < 0)
		return -1;
	if (sys_fchmod(fd, meta->mode & 07777) < 0 || sys_utimensat(fd, NULL, times, 0) < 0)
		return -1;
	return sys_fsync(fd);
}

int txn_meta_apply(struct txn *txn, size_t item, bool forward)
{
	const struct txn_item *which = &txn->items[item];
	owned(fd_close) int fd = txn_where_directory(txn, item, O_RDONLY);
	struct txn_identity there;

	if (fd < 0)
		return -1;
	txn_identity_of(fd, "", &there);
	if (!txn_is_same(txn, &which->old, &there)) {
		errno = ESTALE;
		return -1;
	}
	return txn_meta_set(fd, forward ? &which->new_meta : &which->old_meta);
}

int txn_meta_loosen(struct txn *txn)
{
	for (size_t i = 0; i < txn->count && geteuid() != 0; i++) {
		struct txn_identity there;
		char path[32];

		if (txn->items[i].kind != TXN_META)
			continue;
		owned(fd_close) int fd = txn_where_directory(txn, i, O_PATH);

		if (fd < 0)
			return -1;
		txn_identity_of(fd, "", &there);
		if ((there.mode & 0700) == 0700 || !txn_is_same(txn, &txn->items[i].old, &there))
			continue;
		/* A descriptor that may not be read cannot be given to fchmod. */
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (sys_fchmodat(AT_FDCWD, path, (there.mode | 0700) & 07777) < 0)
			return -1;
	}
	return 0;
}
