/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel quotas of the sandbox's own namespaces. */
#include "confine/sysctl.h"

#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

struct quota {
	const char *path;
	const char *value;
	bool is_needed; /* absent ones belong to features this kernel lacks; these must exist */
};

static const struct quota quotas[] = {
	{ "sys/user/max_user_namespaces", "0", true },
	{ "sys/user/max_net_namespaces", "0", false },
	{ "sys/user/max_pid_namespaces", "0", false },
	{ "sys/user/max_ipc_namespaces", "0", false },
	{ "sys/user/max_uts_namespaces", "0", false },
	{ "sys/user/max_cgroup_namespaces", "0", false },
	{ "sys/user/max_time_namespaces", "0", false },
	{ "sys/user/max_inotify_instances", "64", false },
	{ "sys/user/max_inotify_watches", "65536", false },
	{ "sys/user/max_fanotify_groups", "0", false },
	{ "sys/user/max_fanotify_marks", "0", false },
	{ "sys/net/ipv4/ip_unprivileged_port_start", "0", false },
};

int sysctl_apply_early(int proc_fd, bool has_ipc, struct error *err)
{
	for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		const struct quota *quota = &quotas[i];

		if (file_write_small(proc_fd, quota->path, quota->value) == 0)
			continue;
		if (quota->is_needed || errno != ENOENT)
			return error_errno(err, ERROR_HOST, "cannot set %s", quota->path);
	}
	/* SysV shared memory, 1 GiB: charged to the cgroup anyway; a map without uid 0 may not write this one. */
	if (has_ipc)
		(void)file_write_small(proc_fd, "sys/kernel/shmall", "262144");
	return 0;
}

int sysctl_open_last(int proc_fd)
{
	return openat(proc_fd, "sys/user/max_mnt_namespaces", O_WRONLY | O_CLOEXEC);
}

int sysctl_apply_last(int fd, struct error *err)
{
	if (fd < 0 || write(fd, "0", 1) != 1)
		return error_errno(err, ERROR_HOST, "cannot set sys/user/max_mnt_namespaces");
	return 0;
}
