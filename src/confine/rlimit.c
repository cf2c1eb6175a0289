/* SPDX-License-Identifier: Apache-2.0 */
/* Per-process limits and scheduling. */
#include "confine/rlimit.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(rlim_t) == sizeof(uint64_t), "the kernel's limits have 64 bits");

#define LOW_NICE 5
#define SIGNALS_MAX 1024
#define QUEUE_BYTES (256u << 10)
/* Init is counted with the user's processes, and is not one of theirs. */
#define NPROC_MARGIN 1

static rlim_t smaller(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

/* The number of a limit is an enumeration in one C library and an int in another; the kernel's call takes both. */
static int exchange_limit(int resource, const struct rlimit *next, struct rlimit *ret_before)
{
	return (int)syscall(SYS_prlimit64, 0, resource, next, ret_before);
}

/* Never above the caller's own hard limit: raising needs a privilege, and the caller's bound keeps holding. */
static int set_limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit limit;

	if (exchange_limit(resource, NULL, &limit) < 0)
		return -1;
	limit.rlim_max = smaller(limit.rlim_max, hard);
	limit.rlim_cur = smaller(soft, limit.rlim_max);
	return exchange_limit(resource, &limit, NULL);
}

void rlimit_raise_descriptors(void)
{
	(void)set_limit(RLIMIT_NOFILE, RLIM_INFINITY, RLIM_INFINITY);
}

int rlimit_no_core(void)
{
	/* Exactly 1 stops a piped core_pattern, which 0 does not. */
	return set_limit(RLIMIT_CORE, 1, 1);
}

int rlimit_read(pid_t pid, struct rlimit_all *ret_all)
{
	for (int i = 0; i < RLIMIT_COUNT; i++) {
		struct rlimit limit;

		if (syscall(SYS_prlimit64, pid, i, NULL, &limit) < 0)
			return -1;
		ret_all->soft[i] = limit.rlim_cur;
		ret_all->hard[i] = limit.rlim_max;
	}
	return 0;
}

bool rlimit_may_take(const struct rlimit_all *own, const struct rlimit_all *other)
{
	for (int i = 0; i < RLIMIT_COUNT; i++) {
		if (i != RLIMIT_CORE && other->hard[i] > own->hard[i])
			return false;
	}
	return true;
}

int rlimit_take(const struct rlimit_all *all)
{
	for (int i = 0; i < RLIMIT_COUNT; i++) {
		const struct rlimit limit = { all->soft[i], all->hard[i] };

		if (i != RLIMIT_CORE && exchange_limit(i, &limit, NULL) < 0)
			return -1;
	}
	return 0;
}

int rlimit_apply(const struct spec_limits *limits, bool no_group)
{
	uint64_t fsize = limits->fsize_bytes ? limits->fsize_bytes : RLIM_INFINITY;
	uint64_t nofile = limits->nofile ? limits->nofile : 65536;
	uint64_t nofile_soft = limits->nofile_soft ? limits->nofile_soft : nofile;
	/* Without a cgroup nothing else bounds a memfd, which is memory and a file. */
	uint64_t file_bytes =
		no_group && limits->mem_bytes ? smaller(fsize, limits->mem_bytes) : fsize;
	/* Nor what descriptors hold in the kernel: there, a program does not get more of them than it starts with. */
	uint64_t nofile_hard = no_group ? nofile_soft : nofile;
	uint64_t cpu_seconds = (limits->cpu_time_ms + 999) / 1000;

	if (rlimit_no_core() < 0 || set_limit(RLIMIT_FSIZE, file_bytes, file_bytes) < 0 ||
	    set_limit(RLIMIT_MEMLOCK, limits->memlock_bytes, limits->memlock_bytes) < 0 ||
	    /* Both are charged to the caller on the host as well. */
	    set_limit(RLIMIT_SIGPENDING, SIGNALS_MAX, SIGNALS_MAX) < 0 ||
	    set_limit(RLIMIT_MSGQUEUE, QUEUE_BYTES, QUEUE_BYTES) < 0 ||
	    set_limit(RLIMIT_RTPRIO, 0, 0) < 0 || set_limit(RLIMIT_NICE, 0, 0) < 0)
		return -1;
	if (set_limit(RLIMIT_NOFILE, nofile_soft, nofile_hard) < 0)
		return -1;
	/* One second beyond: the supervisor's count over all processes acts first and can say why. */
	if (cpu_seconds && set_limit(RLIMIT_CPU, cpu_seconds + 1, cpu_seconds + 2) < 0)
		return -1;
	/* The kernel refuses at this bound without an event: the supervisor reports what its samples show. */
	if (no_group && limits->pids &&
	    set_limit(RLIMIT_NPROC, limits->pids + NPROC_MARGIN, limits->pids + NPROC_MARGIN) < 0)
		return -1;
	return 0;
}

int rlimit_step_back(const struct spec_limits *limits)
{
	/* Never forward: the caller may stand behind already. */
	if (limits->cpu_milli || getpriority(PRIO_PROCESS, 0) >= LOW_NICE)
		return 0;
	return setpriority(PRIO_PROCESS, 0, LOW_NICE);
}
