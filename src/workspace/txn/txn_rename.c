/* SPDX-License-Identifier: Apache-2.0 */
/* The two renames a transaction is made of, on filesystems that know renameat2's flags and on those that do not. */
#include "workspace/txn/txn_rename.h"

#include "workspace/disk/sys.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdbool.h>

static bool is_unknown(int errnum)
{
	return errnum == EINVAL || errnum == ENOSYS || errnum == EOPNOTSUPP;
}

/* By link, which never replaces; directories have no links, and only this transaction writes to a slot. */
static int free_by_hand(struct rename_end from, struct rename_end to)
{
	struct stat st;

	if (fstatat(from.fd, from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		if (sys_linkat(from.fd, from.name, to.fd, to.name, 0) < 0)
			return -1;
		return sys_unlinkat(from.fd, from.name, 0);
	}
	if (fstatat(to.fd, to.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return sys_renameat2(from.fd, from.name, to.fd, to.name, 0);
}

int rename_to_free(struct rename_end from, struct rename_end to)
{
	if (sys_renameat2(from.fd, from.name, to.fd, to.name, RENAME_NOREPLACE) == 0)
		return 0;
	return is_unknown(errno) ? free_by_hand(from, to) : -1;
}

/* The old object keeps a name at every moment: first BACKUP, then SLOT. Between files PATH is never free. */
static int exchange_by_hand(struct rename_end path, struct rename_end slot, const char *backup)
{
	struct stat old, new;

	if (fstatat(path.fd, path.name, &old, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(slot.fd, slot.name, &new, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	bool links = !S_ISDIR(old.st_mode) && !S_ISDIR(new.st_mode);
	int kept = links ? sys_linkat(path.fd, path.name, slot.fd, backup, 0)
			 : sys_renameat2(path.fd, path.name, slot.fd, backup, 0);

	if (kept < 0)
		return -1;
	if (sys_renameat2(slot.fd, slot.name, path.fd, path.name, 0) < 0) {
		int saved = errno;

		if (links)
			(void)sys_unlinkat(slot.fd, backup, 0);
		else
			(void)sys_renameat2(slot.fd, backup, path.fd, path.name, 0);
		errno = saved;
		return -1;
	}
	return sys_renameat2(slot.fd, backup, slot.fd, slot.name, 0);
}

int rename_exchange(struct rename_end path, struct rename_end slot, const char *backup)
{
	if (sys_renameat2(slot.fd, slot.name, path.fd, path.name, RENAME_EXCHANGE) == 0)
		return 0;
	return is_unknown(errno) ? exchange_by_hand(path, slot, backup) : -1;
}
