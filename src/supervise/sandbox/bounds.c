/* SPDX-License-Identifier: Apache-2.0 */
/* What the sandbox has used, and the bounds that neither the kernel nor a client keeps. */
#include "supervise/sandbox/parts.h"
#include "observe/tree_sample.h"

#include <fcntl.h>

void bounds_init(struct supervisor *supervisor)
{
	const struct spec *spec = supervisor->options->spec;

	supervisor->top_fd = open(spec->upper_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	disk_watch_init(&supervisor->disk, supervisor->top_fd, spec->limits.disk_bytes,
			spec->limits.inodes);
	quota_begin(&supervisor->quota, supervisor->top_fd, spec->limits.disk_bytes,
		    spec->limits.inodes);
}

void bounds_done(struct supervisor *supervisor)
{
	quota_end(&supervisor->quota);
}

static void end_everybody(struct supervisor *supervisor)
{
	const struct attach_message message = { .kind = ATTACH_KILL };

	(void)attach_send(supervisor->launch.payload_fd, &message, NULL, 0);
}

/* Where no group does it: the sum of what all processes have to themselves. */
static bool is_beyond_memory(const struct supervisor *supervisor)
{
	uint64_t limit = supervisor->options->spec->limits.mem_bytes;
	struct tree_usage usage;

	if (supervisor->launch.has_group || !limit || supervisor->launch.proc_fd < 0)
		return false;
	tree_sample(supervisor->launch.proc_fd, &usage);
	return usage.memory_bytes > limit;
}

/* No process is ended: the filesystem refuses writes. Reported once each time it fills. */
static void look_at_quota(struct supervisor *supervisor)
{
	bool is_full, inodes_hit;

	quota_look(&supervisor->quota, &is_full, &inodes_hit);
	supervisor->disk_stops += is_full && !supervisor->was_full;
	supervisor->inode_stops += inodes_hit && !supervisor->inodes_hit;
	supervisor->was_full = is_full;
	supervisor->inodes_hit = inodes_hit;
}

void bounds_look(struct supervisor *supervisor, bool at_last)
{
	if (is_beyond_memory(supervisor)) {
		supervisor->oom_kills++;
		end_everybody(supervisor);
	}
	if (supervisor->quota.is_on)
		look_at_quota(supervisor);
	if (!(at_last ? disk_watch_is_over_at_last : disk_watch_is_over)(&supervisor->disk))
		return;
	/* It does not hold, or it would not have come to this. */
	quota_end(&supervisor->quota);
	if (supervisor->disk.is_entries)
		supervisor->inode_stops++;
	else
		supervisor->disk_stops++;
	end_everybody(supervisor);
	/*
	 * The next command, perhaps one that makes room, is not stopped for what these processes wrote before they
	 * ended.
	 */
	disk_watch_begin_again(&supervisor->disk);
	if (supervisor->is_idle)
		disk_watch_settle(&supervisor->disk);
}

void supervisor_figures(struct supervisor *supervisor, const struct client *client, bool afresh,
			struct attach_figures *ret_figures)
{
	struct cgroup_usage usage = { 0 };
	struct tree_usage tree;
	bool has_proc = supervisor->launch.proc_fd >= 0;

	if (afresh && supervisor->launch.has_group) {
		cgroup_read(&supervisor->launch.group, false, &usage);
		supervisor->oom_kills = usage.oom_kills;
		supervisor->pids_refused = usage.pids_refused;
	}
	*ret_figures = (struct attach_figures){
		.missing = supervisor->launch.missing |
			   (uint32_t)disk_watch_is_full(&supervisor->disk) << LAYER_DISK,
		.has_group = supervisor->launch.has_group,
		.is_idle = supervisor->is_idle,
		.has_quota = supervisor->quota.is_on,
		.disk_stops = supervisor->disk_stops,
		.inode_stops = supervisor->inode_stops,
		.init_pid = supervisor->launch.init_pid,
		.oom_kills = supervisor->oom_kills,
		.pids_refused = supervisor->pids_refused,
		.cpu_us = usage.cpu_us,
		.memory_bytes = usage.memory_bytes,
		.unsent = client->unsent,
	};
	if (afresh && has_proc && !supervisor->launch.has_group) {
		tree_sample(supervisor->launch.proc_fd, &tree);
		ret_figures->tasks = tree.tasks;
		ret_figures->memory_bytes = tree.memory_bytes;
	}
	if (afresh && client->is_active && client->pid && has_proc)
		ret_figures->exec_cpu_us =
			tree_session_cpu_us(supervisor->launch.proc_fd, client->pid);
}
