/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about this kernel, this user and this machine, read in one go and without forks. */
#include "host/host.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "host/parts.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static unsigned count_cores(void)
{
	/* One is for 1024 of them. */
	cpu_set_t sets[8];
	int count;

	memset(sets, 0, sizeof(sets));
	if (sched_getaffinity(0, sizeof(sets), sets) < 0)
		return 1;
	count = CPU_COUNT_S(sizeof(sets), sets);
	return count > 0 ? (unsigned)count : 1;
}

static uint64_t count_memory(void)
{
	struct sysinfo info;

	if (sysinfo(&info) < 0)
		return 0;
	return (uint64_t)info.totalram * info.mem_unit;
}

static uint64_t count_open_files(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
}

/* Filesystem types whose mounts can be idmapped; the kernel decides when launch tries. */
static bool is_idmappable(const char *fstype)
{
	static const char *const types[] = { "ext4",  "ext3",  "ext2", "xfs",  "btrfs",	   "f2fs",
					     "tmpfs", "erofs", "zfs",  "vfat", "bcachefs", NULL };

	for (const char *const *type = types; *type; type++) {
		if (strcmp(*type, fstype) == 0)
			return true;
	}
	return false;
}

static void find_root(struct host *host)
{
	for (size_t i = 0; i < host->mount_count; i++) {
		const struct host_mount *mount = &host->mounts[i];

		/* Mounts at / can be stacked (initramfs below): the last one is seen. */
		if (strcmp(mount->point, "/") == 0)
			host->root_idmappable = is_idmappable(mount->fstype);
	}
}

static const struct host_id_files files = {
	.passwd = "/etc/passwd",
	.subuid = "/etc/subuid",
	.subgid = "/etc/subgid",
};

int host_read_self(struct host *ret_host, struct error *err)
{
	memset(ret_host, 0, sizeof(*ret_host));
	if (host_read_ids(ret_host, &files, err) < 0 ||
	    host_read_dirs(ret_host, files.passwd, err) < 0) {
		host_done(ret_host);
		return -1;
	}
	return 0;
}

int host_read_rest(struct host_memory *memory, struct host *host, struct error *err)
{
	owned(str_done) struct str groups = STR_INIT;
	owned(fd_close) int fd = -1;

	if ((memory ? host_recall_mounts(memory, host, err) : host_read_mounts(host, err)) < 0)
		return -1;
	find_root(host);
	/* A kernel without cgroups is fit for use, with limits degraded. */
	fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fd_read_all(fd, (size_t)1 << 20, &groups) == 0)
		host_find_cgroup(host, str_cstr(&groups));
	host->memory_bytes = count_memory();
	host->cores = count_cores();
	host->open_files = count_open_files();
	return 0;
}

int host_read(struct host *ret_host, struct error *err)
{
	struct host host;

	if (host_read_self(&host, err) < 0)
		return -1;
	if (host_read_rest(NULL, &host, err) < 0) {
		host_done(&host);
		return -1;
	}
	*ret_host = host;
	return 0;
}

int host_read_groups_of(const char *text, struct host *ret_host, struct error *err)
{
	memset(ret_host, 0, sizeof(*ret_host));
	if (host_read_mounts(ret_host, err) < 0)
		return -1;
	host_find_cgroup(ret_host, text);
	return 0;
}

int host_read_caller(struct host *ret_host, struct error *err)
{
	struct host host = { .uid = getuid(), .gid = getgid() };

	if (host_read_places(&host, "/etc/passwd", err) < 0) {
		host_done(&host);
		return -1;
	}
	*ret_host = host;
	return 0;
}

void host_done(struct host *host)
{
	free(host->user);
	free(host->home);
	free(host->cwd);
	if (!host->borrows_mounts)
		host_mounts_free(host->mounts, host->mount_count);
	host_cgroup_done(&host->cgroup);
	free(host->data_dir);
	free(host->state_dir);
	free(host->cache_dir);
	free(host->config_dir);
	free(host->runtime_dir);
	memset(host, 0, sizeof(*host));
}
