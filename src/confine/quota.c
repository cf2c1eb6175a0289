/* SPDX-License-Identifier: Apache-2.0 */
/* Project quotas of ext4 and XFS. */
#include "confine/quota.h"

#include "base/file/dir.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 8
#define BLOCK 1024u
/* Less than that is no room for a write of usual size. */
#define ROOM_MIN (64u << 10)
/* Small numbers are people's. */
#define OWN_FIRST 0x40000000u
#define OWN_MASK 0x3fffffffu

static int control(int fd, unsigned command, uint32_t project, struct if_dqblk *limits)
{
	return (int)syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), project, limits);
}

static uint32_t project_of(int fd)
{
	struct fsxattr attributes = { 0 };

	return ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0 ? 0 : attributes.fsx_projid;
}

/* Given by quota_begin: neither an administrator's number nor one inherited from the directory above, which has other bounds. */
static bool is_own(int fd, uint32_t project)
{
	owned(fd_close) int above = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return (project & ~OWN_MASK) == OWN_FIRST && above >= 0 && project_of(above) != project;
}

/* INHERITS: what is made in it from now on belongs to the project as well, and nothing of another can be moved there. */
static int join(int fd, uint32_t project, bool inherits)
{
	struct fsxattr attributes;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0)
		return -1;
	attributes.fsx_projid = project;
	attributes.fsx_xflags &= ~(uint32_t)FS_XFLAG_PROJINHERIT;
	if (inherits)
		attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
}

static bool is_empty(int fd)
{
	owned(dir_close) DIR *dir = dir_open(fd, ".");
	struct dirent *entry;

	return dir && dir_next(dir, &entry) == 0;
}

/* A number that nothing on this filesystem is counted under. */
static uint32_t find_free(int fd)
{
	for (int i = 0; i < TRIES; i++) {
		struct if_dqblk found = { 0 };
		uint32_t project;

		if (getrandom(&project, sizeof(project), 0) != sizeof(project))
			return 0;
		project = (project & OWN_MASK) | OWN_FIRST;
		int status = control(fd, Q_GETQUOTA, project, &found);

		if (status < 0 && errno != ENOENT)
			return 0;
		if (status < 0 || (found.dqb_curspace == 0 && found.dqb_curinodes == 0 &&
				   found.dqb_bhardlimit == 0 && found.dqb_ihardlimit == 0))
			return project;
	}
	return 0;
}

static bool set_limits(const struct quota *quota, uint64_t bytes, uint64_t inodes)
{
	struct if_dqblk limits = {
		.dqb_bhardlimit = bytes / BLOCK + (bytes % BLOCK != 0),
		.dqb_ihardlimit = inodes,
		.dqb_valid = QIF_LIMITS,
	};

	return control(quota->fd, Q_SETQUOTA, quota->project, &limits) == 0;
}

void quota_begin(struct quota *quota, int fd, uint64_t bytes, uint64_t inodes)
{
	*quota = (struct quota){ .fd = fd, .bytes = bytes, .inodes = inodes };
	if (fd < 0 || geteuid() != 0 || (!bytes && !inodes))
		return;
	quota->project = project_of(fd);
	if (quota->project == 0 && is_empty(fd))
		quota->project = find_free(fd);
	else if (!is_own(fd, quota->project))
		quota->project = 0;
	quota->is_on = quota->project && join(fd, quota->project, true) == 0 &&
		       set_limits(quota, bytes, inodes);
	if (quota->project && !quota->is_on)
		(void)join(fd, quota->project, false);
}

void quota_settle(const struct quota *quota)
{
	if (quota->is_on)
		(void)join(quota->fd, quota->project, false);
}

void quota_look(const struct quota *quota, bool *ret_is_full, bool *ret_inodes_hit)
{
	struct if_dqblk found = { 0 };

	*ret_is_full = *ret_inodes_hit = false;
	if (!quota->is_on || control(quota->fd, Q_GETQUOTA, quota->project, &found) < 0)
		return;
	*ret_is_full = quota->bytes && found.dqb_curspace + ROOM_MIN > quota->bytes;
	*ret_inodes_hit = quota->inodes && found.dqb_curinodes >= quota->inodes;
}

void quota_end(struct quota *quota)
{
	/* A start that failed has not settled. */
	quota_settle(quota);
	if (quota->is_on)
		(void)set_limits(quota, 0, 0);
	quota->is_on = false;
}
