/* Counting a sandbox's processes from its /proc, and the limit on them that the supervisor keeps. */
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include "base/own.h"
#include "driver/linux/tasks.h"
#include "observe/tree_sample.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process in a made-up proc: its threads, and 1 s each of user and system time, 2 s each of its children's. */
static void add_process(int proc_fd, const char *pid, const char *name, unsigned threads)
{
	long tick = sysconf(_SC_CLK_TCK);
	char path[64];

	(void)mkdirat(proc_fd, pid, 0755);
	(void)snprintf(path, sizeof(path), "%s/task", pid);
	(void)mkdirat(proc_fd, path, 0755);
	for (unsigned i = 0; i < threads; i++) {
		(void)snprintf(path, sizeof(path), "%s/task/%u", pid, 100 + i);
		(void)mkdirat(proc_fd, path, 0755);
	}
	(void)snprintf(path, sizeof(path), "%s/stat", pid);
	owned(fd_close) int stat_fd = openat(proc_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	(void)dprintf(stat_fd, "%s (%s) S 1 1 1 0 -1 0 0 0 0 0 %ld %ld %ld %ld 20 0 %u 0 1 2\n",
		      pid, name, tick, tick, 2 * tick, 2 * tick, threads);
	(void)snprintf(path, sizeof(path), "%s/statm", pid);
	owned(fd_close) int statm_fd = openat(proc_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	(void)dprintf(statm_fd, "1000 30 10 1 0 5 0\n");
}

static void test_figures(int proc_fd)
{
	struct tree_usage usage;

	tree_sample(proc_fd, &usage);
	tap_is_int((long long)usage.tasks, 4, "init is no task of the payload's, threads are");
	tap_is_int((long long)usage.cpu_us, 16000000,
		   "own time, children waited for, orphans init waited for");
	tap_is_int((long long)usage.memory_bytes, 2 * 20 * sysconf(_SC_PAGESIZE),
		   "resident memory without what files share");
	tap_is_int((long long)tree_count(proc_fd), 4, "the quick count says the same");
	tree_sample(-1, &usage);
	tap_is_int((long long)(usage.tasks + usage.cpu_us + usage.memory_bytes + tree_count(-1)), 0,
		   "no proc, no figures");
}

static void test_limit(int proc_fd)
{
	struct tasks tasks;

	tasks_init(&tasks, 6);
	for (int i = 0; i < 5; i++)
		tap_ok(tasks_admit(&tasks, proc_fd), "task %d is below the limit", i + 2);
	tap_is_int((long long)tasks.counts, 0, "so far nothing had to be counted");
	tap_ok(tasks_admit(&tasks, proc_fd) && tasks_admit(&tasks, proc_fd),
	       "at the bound it counts: only 4 are left, two more may come");
	tap_is_int((long long)tasks.counts, 1, "one count was enough");
	add_process(proc_fd, "55", "new", 2);
	tap_ok(!tasks_admit(&tasks, proc_fd) && !tasks_admit(&tasks, proc_fd),
	       "at the limit: refused");
	tap_is_int((long long)tasks.refused, 2, "and told");
	tasks_init(&tasks, 1);
	tap_ok(!tasks_admit(&tasks, proc_fd), "a limit of one is the command itself");
}

/* The real thing: a proc that lists this process. */
static void test_real(void)
{
	owned(fd_close) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct tree_usage usage;

	tree_sample(proc_fd, &usage);
	tap_ok(usage.tasks > 0 && usage.memory_bytes > 0, "this machine has processes");
	tap_ok(tree_count(proc_fd) > 0, "and the quick count sees them");
}

int main(void)
{
	struct scratch scratch;
	struct stat st;

	scratch_open(&scratch);
	int proc_fd = open(scratch.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	add_process(proc_fd, "1", "init", 1);
	add_process(proc_fd, "7", "a) b (c", 3);
	add_process(proc_fd, "42", "sh", 1);
	(void)mkdirat(proc_fd, "sys", 0755);
	(void)mkdirat(proc_fd, "9", 0755);
	if (fstatat(proc_fd, "7/task", &st, 0) == 0 && st.st_nlink == 5) {
		test_figures(proc_fd);
		test_limit(proc_fd);
	} else {
		tap_skip(2, "this filesystem does not count a directory's links");
	}
	test_real();
	(void)close(proc_fd);
	scratch_close(&scratch);
	return tap_done();
}
