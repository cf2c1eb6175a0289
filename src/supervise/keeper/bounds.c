/* SPDX-License-Identifier: Apache-2.0 */
/* What the sandbox has used, and the bounds that neither the kernel nor a client keeps. */
#include "supervise/keeper/parts.h"
#include "observe/tree_sample.h"

#include <fcntl.h>

void bounds_init(struct keeper *keeper)
{
	const struct spec *spec = keeper->options->spec;

	keeper->top_fd = open(spec->upper_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	disk_watch_init(&keeper->disk, keeper->top_fd, spec->limits.disk_bytes,
			spec->limits.inodes);
	quota_begin(&keeper->quota, keeper->top_fd, spec->limits.disk_bytes, spec->limits.inodes);
}

void bounds_done(struct keeper *keeper)
{
	quota_end(&keeper->quota);
}

static void end_everybody(struct keeper *keeper)
{
	const struct attach_message message = { .kind = ATTACH_KILL };

	(void)attach_send(keeper->launch.payload_fd, &message, NULL, 0);
}

/* Where no group does it: the sum of what all processes have to themselves. */
static bool is_beyond_memory(const struct keeper *keeper)
{
	uint64_t limit = keeper->options->spec->limits.mem_bytes;
	struct tree_usage usage;

	if (keeper->launch.has_group || !limit || keeper->launch.proc_fd < 0)
		return false;
	tree_sample(keeper->launch.proc_fd, &usage);
	return usage.memory_bytes > limit;
}

/* No process is ended: the filesystem refuses writes. Reported once each time it fills. */
static void look_at_quota(struct keeper *keeper)
{
	bool is_full, inodes_hit;

	quota_look(&keeper->quota, &is_full, &inodes_hit);
	keeper->disk_stops += is_full && !keeper->was_full;
	keeper->inode_stops += inodes_hit && !keeper->inodes_hit;
	keeper->was_full = is_full;
	keeper->inodes_hit = inodes_hit;
}

void bounds_look(struct keeper *keeper, bool at_last)
{
	if (is_beyond_memory(keeper)) {
		keeper->oom_kills++;
		end_everybody(keeper);
	}
	if (keeper->quota.is_on)
		look_at_quota(keeper);
	if (!(at_last ? disk_watch_is_over_at_last : disk_watch_is_over)(&keeper->disk))
		return;
	/* It does not hold, or it would not have come to this. */
	quota_end(&keeper->quota);
	if (keeper->disk.is_entries)
		keeper->inode_stops++;
	else
		keeper->disk_stops++;
	end_everybody(keeper);
	/*
	 * The next command, perhaps one that makes room, is not stopped for what these processes wrote before they
	 * ended.
	 */
	disk_watch_begin_again(&keeper->disk);
	if (keeper->is_idle)
		disk_watch_settle(&keeper->disk);
}

void keeper_figures(struct keeper *keeper, const struct client *client, bool afresh,
		    struct attach_figures *ret_figures)
{
	struct cgroup_usage usage = { 0 };
	bool has_proc = keeper->launch.proc_fd >= 0;

	if (afresh && keeper->launch.has_group) {
		cgroup_read(&keeper->launch.group, false, &usage);
		keeper->oom_kills = usage.oom_kills;
		keeper->pids_refused = usage.pids_refused;
	}
	*ret_figures = (struct attach_figures){
		.missing = keeper->launch.missing | (uint32_t)disk_watch_is_full(&keeper->disk)
							    << LAYER_DISK,
		.has_group = keeper->launch.has_group,
		.is_idle = keeper->is_idle,
		.has_quota = keeper->quota.is_on,
		.disk_stops = keeper->disk_stops,
		.inode_stops = keeper->inode_stops,
		.init_pid = keeper->launch.init_pid,
		.oom_kills = keeper->oom_kills,
		.pids_refused = keeper->pids_refused,
		.cpu_us = usage.cpu_us,
		.memory_bytes = usage.memory_bytes,
		.untold = client->untold,
	};
	if (afresh && has_proc && !keeper->launch.has_group)
		ret_figures->tasks = tree_count(keeper->launch.proc_fd);
	if (afresh && client->is_active && client->pid && has_proc)
		ret_figures->exec_cpu_us = tree_session_cpu_us(keeper->launch.proc_fd, client->pid);
}
