/* SPDX-License-Identifier: Apache-2.0 */
/* Resource groups: v1 and v2 behind one face. */
#include "confine/cgroup.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CPU_PERIOD_US 100000
#define LOW_WEIGHT "50"
#define OWNER_TRIES 100

void cgroup_init(struct cgroup *group)
{
	memset(group, 0, sizeof(*group));
	group->memory = group->pids = group->cpu = group->cpuacct = -1;
	group->place_fd = -1;
}

struct cgroup_place cgroup_place_of(const struct spec_groups *groups)
{
	return (struct cgroup_place){ groups->unified,	 groups->v2_path,    groups->memory_path,
				      groups->pids_path, groups->cpu_path,   groups->cpuacct_path,
				      groups->owner,	 groups->owner_bytes };
}

static int write_number(int dir_fd, const char *file, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return file_write_small(dir_fd, file, text);
}

static uint64_t read_number(int dir_fd, const char *file)
{
	char text[32];

	if (file_read_small(dir_fd, file, text, sizeof(text)) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

/* Makes the group's name in *PARENT_FD, which it takes, and opens the file to enter by; appends to the group. Index, or -1 with errno. */
static int add_below(struct cgroup *group, int *parent_taken, const char *enter_file)
{
	owned(fd_close) int parent_fd = fd_take(parent_taken);

	if (mkdirat(parent_fd, group->name, 0755) < 0)
		return -1;
	owned(fd_close) int dir_fd =
		openat(parent_fd, group->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int enter_fd = dir_fd < 0 ? -1 : openat(dir_fd, enter_file, O_WRONLY | O_CLOEXEC);

	if (enter_fd < 0) {
		int saved = errno;

		(void)unlinkat(parent_fd, group->name, AT_REMOVEDIR);
		errno = saved;
		return -1;
	}
	size_t index = group->count++;

	group->parents[index] = fd_take(&parent_fd);
	group->dirs[index] = fd_take(&dir_fd);
	group->enter[index] = enter_fd;
	return (int)index;
}

/* The same in the directory PARENT. */
static int add_directory(struct cgroup *group, const char *parent, const char *enter_file)
{
	owned(fd_close) int parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return parent_fd < 0 ? -1 : add_below(group, &parent_fd, enter_file);
}

/* On a machine without a manager controllers are not switched on yet for groups below the root. */
static void switch_on_controllers(int parent_fd)
{
	static const char *const controllers[] = { "+memory", "+pids", "+cpu" };

	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
		(void)file_write_small(parent_fd, "cgroup.subtree_control", controllers[i]);
}

/*
 * The limit only ever falls while the group is there: the smallest that was asked for holds for all in it. One that is
 * below what they use already is refused by version 1 (EBUSY), and the former stays.
 */
static int limit_owner(const struct cgroup *group, int owner_fd, uint64_t bytes)
{
	const char *file = group->unified ? "memory.max" : "memory.limit_in_bytes";
	uint64_t now;

	if (group->unified && faccessat(owner_fd, file, F_OK, 0) < 0)
		switch_on_controllers(group->place_fd);
	now = read_number(owner_fd, file); /* 0 for "max" */
	if (now && now <= bytes)
		return 0;
	if (write_number(owner_fd, file, bytes) < 0 && errno != EBUSY)
		return -1;
	(void)(group->unified ? file_write_small(owner_fd, "memory.swap.max", "0")
			      : write_number(owner_fd, "memory.memsw.limit_in_bytes", bytes));
	return 0;
}

static int try_below_owner(struct cgroup *group, uint64_t bytes, const char *enter_file)
{
	if (mkdirat(group->place_fd, group->owner, 0755) < 0 && errno != EEXIST)
		return -1;
	owned(fd_close) int owner_fd =
		openat(group->place_fd, group->owner, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (owner_fd < 0 || limit_owner(group, owner_fd, bytes) < 0)
		return -1;
	return add_below(group, &owner_fd, enter_file);
}

/* The group of memory: in the owner's, where there is one. That may be removed while it is still empty, by the last of others. */
static int add_memory(struct cgroup *group, const struct cgroup_place *place,
		      const char *enter_file)
{
	const char *parent = place->unified ? place->v2_path : place->memory_path;
	int index;

	if (!place->owner)
		return add_directory(group, parent, enter_file);
	(void)snprintf(group->owner, sizeof(group->owner), "%s", place->owner);
	group->place_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (group->place_fd < 0)
		return -1;
	for (unsigned tries = 0; tries < OWNER_TRIES; tries++) {
		index = try_below_owner(group, place->owner_bytes, enter_file);
		if (index >= 0 || (errno != ENOENT && errno != ENODEV))
			break;
	}
	return index;
}

static int limit_cpu_v2(int dir, uint64_t cpu_milli, struct error *err)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "%llu %d",
		       (unsigned long long)(cpu_milli * CPU_PERIOD_US / 1000), CPU_PERIOD_US);
	return file_write_small(dir, "cpu.max", text) < 0
		       ? error_errno(err, ERROR_HOST, "cannot limit the CPU")
		       : 0;
}

static int limit_cpu_v1(int dir, uint64_t cpu_milli, struct error *err)
{
	if (write_number(dir, "cpu.cfs_period_us", CPU_PERIOD_US) < 0 ||
	    write_number(dir, "cpu.cfs_quota_us", cpu_milli * CPU_PERIOD_US / 1000) < 0)
		return error_errno(err, ERROR_HOST, "cannot limit the CPU");
	return 0;
}

static int limit_v2(struct cgroup *group, const struct spec_limits *limits, struct error *err)
{
	int dir = group->dirs[0];

	if (limits->mem_bytes && write_number(dir, "memory.max", limits->mem_bytes) < 0)
		return error_errno(err, ERROR_HOST, "cannot limit memory");
	/* Swap would turn a memory limit into a slow machine; absent where the kernel has no swap accounting. */
	if (limits->mem_bytes && file_write_small(dir, "memory.swap.max", "0") < 0 &&
	    errno != ENOENT)
		return error_errno(err, ERROR_HOST, "cannot limit swap");
	(void)file_write_small(dir, "memory.oom.group", "0");
	if (limits->pids && write_number(dir, "pids.max", limits->pids) < 0)
		return error_errno(err, ERROR_HOST, "cannot limit the number of processes");
	if (limits->cpu_milli)
		return limit_cpu_v2(dir, limits->cpu_milli, err);
	(void)file_write_small(dir, "cpu.weight", LOW_WEIGHT);
	return 0;
}

static int limit_v1(struct cgroup *group, const struct spec_limits *limits, struct error *err)
{
	if (limits->mem_bytes) {
		int dir = group->dirs[group->memory];

		if (write_number(dir, "memory.limit_in_bytes", limits->mem_bytes) < 0)
			return error_errno(err, ERROR_HOST, "cannot limit memory");
		(void)write_number(dir, "memory.memsw.limit_in_bytes", limits->mem_bytes);
	}
	if (limits->pids && write_number(group->dirs[group->pids], "pids.max", limits->pids) < 0)
		return error_errno(err, ERROR_HOST, "cannot limit the number of processes");
	if (group->cpu < 0 && limits->cpu_milli)
		return error_set(err, ERROR_HOST, "no cpu controller to limit the CPU with");
	if (group->cpu < 0)
		return 0;
	return limit_cpu_v1(group->dirs[group->cpu], limits->cpu_milli, err);
}

static int create_v2(struct cgroup *group, const struct cgroup_place *place,
		     const struct spec_limits *limits, struct error *err)
{
	if (!place->v2_path)
		return error_set(err, ERROR_HOST, "no control group to make one in");
	if (add_memory(group, place, "cgroup.procs") < 0)
		return error_errno(err, ERROR_HOST, "cannot make a control group");
	group->memory = group->pids = group->cpu = group->cpuacct = 0;
	if (faccessat(group->dirs[0], "memory.max", F_OK, 0) < 0 ||
	    faccessat(group->dirs[0], "pids.max", F_OK, 0) < 0)
		switch_on_controllers(group->parents[0]);
	return limit_v2(group, limits, err);
}

/* What this run has no use for, it still clears up behind others. */
static int add_if_used(struct cgroup *group, const char *parent, bool is_used)
{
	if (parent && is_used)
		return add_directory(group, parent, "tasks");
	if (parent)
		strv_add(&group->unused, parent);
	return -1;
}

/* Groups of v1 cost 30 to 80 us each: only those are made that keep a promise of this run. */
static int create_v1(struct cgroup *group, const struct cgroup_place *place,
		     const struct spec_limits *limits, struct error *err)
{
	if (!place->memory_path || !place->pids_path)
		return error_set(err, ERROR_HOST, "no memory or pids controller here");
	group->memory = add_memory(group, place, "tasks");
	if (group->memory < 0)
		return error_errno(err, ERROR_HOST, "cannot make a memory group");
	group->pids = add_directory(group, place->pids_path, "tasks");
	if (group->pids < 0)
		return error_errno(err, ERROR_HOST, "cannot make a pids group");
	group->cpu = add_if_used(group, place->cpu_path, limits->cpu_milli > 0);
	group->cpuacct = add_if_used(group, place->cpuacct_path, limits->cpu_time_ms > 0);
	if (!place->cpuacct_path)
		group->cpuacct = group->cpu;
	return limit_v1(group, limits, err);
}

static void begin(struct cgroup *group, const struct cgroup_place *place, const char *name)
{
	cgroup_init(group);
	group->unified = place->unified;
	(void)snprintf(group->name, sizeof(group->name), "%s", name);
}

/* Hands GROUP over, or removes what there is of it. */
static int finish(struct cgroup *group, int status, struct cgroup *ret_group)
{
	if (status < 0) {
		(void)cgroup_remove(group, 0);
		cgroup_done(group);
		return -1;
	}
	*ret_group = *group;
	return 0;
}

int cgroup_create(const struct cgroup_place *place, const char *name,
		  const struct spec_limits *limits, struct cgroup *ret_group, struct error *err)
{
	struct cgroup group;
	int status;

	begin(&group, place, name);
	status = group.unified ? create_v2(&group, place, limits, err)
			       : create_v1(&group, place, limits, err);
	return finish(&group, status, ret_group);
}

static int create_share(struct cgroup *group, const struct cgroup_place *place, uint64_t cpu_milli,
			struct error *err)
{
	const char *parent = group->unified ? place->v2_path : place->cpu_path;

	if (!parent)
		return error_set(err, ERROR_HOST, "no cpu controller to limit the CPU with");
	group->cpu = add_directory(group, parent, group->unified ? "cgroup.procs" : "tasks");
	if (group->cpu < 0)
		return error_errno(err, ERROR_HOST, "cannot make a control group");
	if (!group->unified)
		return limit_cpu_v1(group->dirs[0], cpu_milli, err);
	if (faccessat(group->dirs[0], "cpu.max", F_OK, 0) < 0)
		switch_on_controllers(group->parents[0]);
	return limit_cpu_v2(group->dirs[0], cpu_milli, err);
}

int cgroup_create_share(const struct cgroup_place *place, const char *name, uint64_t cpu_milli,
			struct cgroup *ret_group, struct error *err)
{
	struct cgroup group;

	begin(&group, place, name);
	return finish(&group, create_share(&group, place, cpu_milli, err), ret_group);
}

int cgroup_enter(const int *enter_fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (write(enter_fds[i], "0", 1) != 1)
			return -1;
	}
	return 0;
}

/* The number behind KEY at the start of a line. */
static uint64_t read_keyed(int dir_fd, const char *file, const char *key)
{
	char text[1024];
	size_t len = strlen(key);

	if (file_read_small(dir_fd, file, text, sizeof(text)) <= 0)
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

static void read_v2(const struct cgroup *group, bool ended, struct cgroup_usage *usage)
{
	int dir = group->dirs[0];

	usage->has_cpu = true;
	usage->cpu_us = read_keyed(dir, "cpu.stat", "usage_usec");
	usage->memory_bytes = ended ? 0 : read_number(dir, "memory.current");
	usage->peak_memory_bytes = read_number(dir, "memory.peak");
	usage->pids = ended ? 0 : read_number(dir, "pids.current");
	usage->oom_kills = read_keyed(dir, "memory.events", "oom_kill");
	usage->pids_refused = read_keyed(dir, "pids.events", "max");
}

void cgroup_read(const struct cgroup *group, bool ended, struct cgroup_usage *ret_usage)
{
	memset(ret_usage, 0, sizeof(*ret_usage));
	if (group->count == 0)
		return;
	if (group->unified) {
		read_v2(group, ended, ret_usage);
		return;
	}
	int memory = group->dirs[group->memory], pids = group->dirs[group->pids];

	ret_usage->memory_bytes = ended ? 0 : read_number(memory, "memory.usage_in_bytes");
	ret_usage->peak_memory_bytes = read_number(memory, "memory.max_usage_in_bytes");
	ret_usage->oom_kills = read_keyed(memory, "memory.oom_control", "oom_kill");
	ret_usage->pids = ended ? 0 : read_number(pids, "pids.current");
	ret_usage->pids_refused = read_keyed(pids, "pids.events", "max");
	ret_usage->has_cpu = group->cpuacct >= 0;
	if (ret_usage->has_cpu)
		ret_usage->cpu_us =
			read_number(group->dirs[group->cpuacct], "cpuacct.usage") / 1000;
}

static int try_remove(const struct cgroup *group)
{
	int status = 0;

	for (size_t i = 0; i < group->count; i++) {
		if (unlinkat(group->parents[i], group->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			status = -1;
	}
	/* Refused as long as another sandbox of the owner's is there, which then removes it. */
	if (status == 0 && group->place_fd >= 0)
		(void)unlinkat(group->place_fd, group->owner, AT_REMOVEDIR);
	return status;
}

int cgroup_remove(const struct cgroup *group, unsigned timeout_ms)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	if (group->unified && group->count)
		(void)file_write_small(group->dirs[0], "cgroup.kill", "1");
	for (unsigned waited = 0; try_remove(group) < 0; waited++) {
		if (waited >= timeout_ms)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

void cgroup_done(struct cgroup *group)
{
	for (size_t i = 0; i < group->count; i++) {
		close(group->dirs[i]);
		close(group->parents[i]);
		close(group->enter[i]);
	}
	fd_close(&group->place_fd);
	strv_done(&group->unused);
	cgroup_init(group);
}
