/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a sandbox's processes, from a /proc made by hand. */
#include "observe/tree_sample.h"

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define ENDED "0 0 0 0 0 0 0\n"

static struct scratch scratch;

static void put(const char *name, const char *text)
{
	free(scratch_write(&scratch, name, text));
}

/* A process with a name that must not be taken for fields. */
static void put_process(const char *proc, int pid, unsigned threads, const char *statm)
{
	owned(free_ptr) char *stat = xasprintf(
		"%d (a) R 9 (b) S 1 1 1 0 -1 4194560 1 2 3 4 100 50 20 10 20 0 %u 0 77 0 0\n", pid,
		threads);
	owned(free_ptr) char *stat_name = xasprintf("%s/%d/stat", proc, pid);
	owned(free_ptr) char *statm_name = xasprintf("%s/%d/statm", proc, pid);
	owned(free_ptr) char *task_name = xasprintf("%s/%d/task/%d/statm", proc, pid, pid);

	put(stat_name, stat);
	put(statm_name, statm);
	put(task_name, statm);
}

static struct tree_usage sample(const char *proc)
{
	owned(free_ptr) char *path = scratch_path(&scratch, proc);
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tree_usage usage;

	tree_sample(fd, &usage);
	return usage;
}

static void test_sums(void)
{
	long tick = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);

	put_process("p0", 1, 1, "500 400 0 1 0 50 0\n");
	put_process("p0", 2, 3, "500 100 40 1 0 50 0\n");
	put_process("p0", 15, 1, "500 10 30 1 0 50 0\n");
	put("p0/self/statm", "500 100 40 1 0 50 0\n");
	struct tree_usage usage = sample("p0");

	tap_is_int((long long)usage.memory_bytes, 60 * page, "resident pages that are not shared");
	tap_is_int((long long)usage.tasks, 4, "threads, without init");
	tap_is_int((long long)usage.cpu_us, (2 * 180 + 30) * 1000000LL / tick,
		   "time of all, and what init waited for");
}

static void test_first_thread_ended(void)
{
	long page = sysconf(_SC_PAGESIZE);

	put_process("p1", 2, 3, ENDED);
	put("p1/2/task/3/statm", ENDED);
	put("p1/2/task/4/statm", "5000 1000 200 1 0 50 0\n");
	tap_is_int((long long)sample("p1").memory_bytes, 800 * page,
		   "a process whose first thread has ended keeps its memory");
	put("p1/2/task/5/statm", "5000 1000 200 1 0 50 0\n");
	tap_is_int((long long)sample("p1").memory_bytes, 800 * page, "which is counted once");
	put_process("p2", 2, 1, ENDED);
	tap_is_int((long long)sample("p2").memory_bytes, 0, "one that has ended has none");
	put_process("p3", 2, 2, ENDED);
	tap_is_int((long long)sample("p3").memory_bytes, 0, "nor one whose threads are ending");
}

static void test_odd(void)
{
	put_process("p4", 2, 1, "rubbish");
	put("p4/3/stat", "3 (no fields");
	put("p4/123456789012345678901/statm", "500 100 40 1 0 50 0\n");
	struct tree_usage usage = sample("p4");

	tap_ok(usage.memory_bytes == 0 && usage.tasks == 1, "what cannot be read counts nothing");
	tap_ok(tree_count(-1) == 0, "nor what is not there");
}

int main(void)
{
	scratch_open(&scratch);
	test_sums();
	test_first_thread_ended();
	test_odd();
	scratch_close(&scratch);
	return tap_done();
}
