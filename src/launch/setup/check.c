/* SPDX-License-Identifier: Apache-2.0 */
/* The last look before the payload is released: is the tree what the plan promised? */
#include "launch/setup/check.h"

#include <errno.h>
#include <stddef.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

struct promise {
	const char *path;
	unsigned long flags; /* ST_* that must be set */
};

#define SEALED (ST_NOSUID | ST_NODEV)

/* Device nodes may be devices; they are read-only so that their times cannot be changed. */
static const struct promise promises[] = {
	{ "/proc", SEALED | ST_NOEXEC },
	{ "/proc/sys", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/proc/sysrq-trigger", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/proc/irq", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/proc/bus", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/proc/fs", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/sys", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/sys/devices/system/cpu", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/dev", SEALED | ST_NOEXEC | ST_RDONLY },
	{ "/dev/null", ST_NOSUID | ST_NOEXEC | ST_RDONLY },
	{ "/dev/tty", ST_NOSUID | ST_NOEXEC | ST_RDONLY },
	{ "/dev/pts", ST_NOSUID | ST_NOEXEC },
	{ "/dev/shm", SEALED },
	{ "/run", SEALED },
	{ "/run/aisbx", SEALED },
	{ "/tmp", SEALED },
	{ "/var/tmp", SEALED },
};

static int check_flags(const char *path, unsigned long wanted, struct error *err)
{
	struct statfs fs;

	/* Not every kernel has every file of /proc, not every host every directory. */
	if (statfs(path, &fs) < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_HOST, "cannot check %s", path);
	if (((unsigned long)fs.f_flags & wanted) != wanted)
		return error_set(err, ERROR_INTERNAL, "mount flags of %s are %#lx, not %#lx", path,
				 (unsigned long)fs.f_flags, wanted);
	return 0;
}

int check_mounts(const struct root_parts *parts, struct error *err)
{
	for (size_t i = 0; i < parts->count; i++) {
		if (check_flags(parts->items[i].target, SEALED, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
		if (check_flags(promises[i].path, promises[i].flags, err) < 0)
			return -1;
	}
	return 0;
}
