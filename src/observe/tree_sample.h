/* Live figures of a tree of processes, read from /proc: for hosts without a usable cgroup. */
#ifndef OBSERVE_TREE_SAMPLE_H
#define OBSERVE_TREE_SAMPLE_H

#include <stdint.h>
#include <sys/types.h>

struct tree_usage {
	uint64_t cpu_us;
	uint64_t memory_bytes; /* sum of resident pages that are not shared with files */
	uint64_t tasks;	       /* threads, as the pids limit counts them */
};

/* All descendants of ROOT, without ROOT itself. Processes that end meanwhile are left out. */
void tree_sample(pid_t root, struct tree_usage *ret_usage);

#endif
