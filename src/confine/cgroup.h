/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource groups: one directory below the caller's own group in each hierarchy (v1) or in the unified one (v2).
 *
 * The supervisor makes the groups and opens the file a process enters by; the payload enters itself by writing "0",
 * because moving another process costs milliseconds on v1 after a pause. Where the sandbox has an owner, its group of memory
 * lies in one that bounds all of that owner's:
 *
 *   caller's group / aisbx-owner-HASH / aisbx-NAMESPACE-PID-RUN
 *
 * The outer one is made by the first sandbox in it and removed with the last; the kernel decides which that is. Figures are read through descriptors kept
 * open, so that reading them never walks a path.
 */
#ifndef CONFINE_CGROUP_H
#define CONFINE_CGROUP_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "confine/owner.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_DIRS_MAX 4
#define OWNER_GROUP_SIZE 40

/* Where groups may be made; plain copies of host facts, NULL where a hierarchy is absent. */
struct cgroup_place {
	bool unified;
	const char *v2_path;
	const char *memory_path, *pids_path, *cpu_path, *cpuacct_path;
	const char *owner; /* NULL: none */
	uint64_t owner_bytes;
};

struct cgroup_place cgroup_place_of(const struct spec_groups *groups);

struct cgroup {
	bool unified;
	char name[OWNER_NAME_SIZE];
	int dirs[CGROUP_DIRS_MAX]; /* O_PATH of the directories made */
	int parents[CGROUP_DIRS_MAX];
	int enter[CGROUP_DIRS_MAX]; /* write "0" here to enter */
	size_t count;
	int place_fd; /* O_PATH of the directory in which the owner's group lies; -1: no owner */
	char owner[OWNER_GROUP_SIZE];
	int memory, pids, cpu, cpuacct; /* index into dirs, or -1 */
	struct strv unused;		/* where others may have groups, and this run has none */
};

struct cgroup_usage {
	uint64_t cpu_us, memory_bytes, peak_memory_bytes, pids;
	uint64_t oom_kills, pids_refused;
	bool has_cpu;
};

void cgroup_init(struct cgroup *group);

/*
 * Makes the groups and sets the limits. Returns 0; or -1 with the reason, and then nothing is left behind. A
 * hierarchy that is missing altogether is not an error as long as memory and pids are there.
 */
int cgroup_create(const struct cgroup_place *place, const char *name,
		  const struct spec_limits *limits, struct cgroup *ret_group, struct error *err);

/*
 * A group that bounds nothing but the CPU: for a process that works for a run, and that the run must neither starve nor
 * make work without end. As above when it fails.
 */
int cgroup_create_share(const struct cgroup_place *place, const char *name, uint64_t cpu_milli,
			struct cgroup *ret_group, struct error *err);

/* Puts the calling process into all groups. Async-signal-safe. */
int cgroup_enter(const int *enter_fds, size_t count);

/* ENDED leaves out what only matters while processes run. */
void cgroup_read(const struct cgroup *group, bool ended, struct cgroup_usage *ret_usage);

/* Ends every process in the groups (where the kernel offers it) and removes them; waits up to TIMEOUT_MS. */
int cgroup_remove(const struct cgroup *group, unsigned timeout_ms);

/*
 * Removes what dead supervisors left beside this group: killed between making groups and having a janitor. Their processes
 * may still be ending, which is waited for up to TIMEOUT_MS.
 */
void cgroup_sweep(const struct cgroup *group, unsigned timeout_ms);

/* The same once, in the directory PATH (NULL: none); adds what was removed to *removed (NULL: not asked for). Whether some are still ending. */
bool cgroup_sweep_place(const char *path, struct strv *removed);
/* In several, waiting as cgroup_sweep does. */
void cgroup_sweep_places(const struct strv *paths, unsigned timeout_ms, struct strv *removed);

/* Adds the directories of HIERARCHY, given by its mount point, in which sandboxes of any caller have groups. */
void cgroup_find_places(const char *hierarchy, struct strv *found);

/* Closes descriptors; the groups stay. */
void cgroup_done(struct cgroup *group);

#endif
