/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live figures of all processes of a sandbox, read from its own /proc: for hosts without a usable cgroup.
 *
 * The list of a pid namespace has no holes: a walk from parent to child would miss processes that are reparented
 * meanwhile, or were started by a thread.
 */
#ifndef OBSERVE_TREE_SAMPLE_H
#define OBSERVE_TREE_SAMPLE_H

#include <stdint.h>

struct tree_usage {
	uint64_t cpu_us;       /* with the children waited for */
	uint64_t memory_bytes; /* sum of resident pages that are not shared with files */
	uint64_t tasks;	       /* threads, as the pids limit counts them */
};

/* PROC_FD: a proc of the sandbox's pid namespace. Its init is left out, and so is what ends meanwhile. */
void tree_sample(int proc_fd, struct tree_usage *ret_usage);

/* Adds one process, by its number in PROC_FD. */
void tree_sample_one(int proc_fd, const char *process, struct tree_usage *usage);

/* CPU time of the processes of one session, with the children they waited for. */
uint64_t tree_session_cpu_us(int proc_fd, int session);

/* Only the tasks, at a quarter of the price. */
uint64_t tree_count(int proc_fd);

#endif
