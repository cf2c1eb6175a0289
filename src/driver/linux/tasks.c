/* The limit on processes and threads where no cgroup keeps it. */
#include "driver/linux/tasks.h"

#include "observe/tree_sample.h"

void tasks_init(struct tasks *tasks, uint64_t limit)
{
	*tasks = (struct tasks){ .limit = limit, .bound = 1 };
}

bool tasks_admit(struct tasks *tasks, int proc_fd)
{
	if (tasks->bound >= tasks->limit) {
		tasks->bound = tree_count(proc_fd);
		tasks->counts++;
	}
	if (tasks->bound >= tasks->limit) {
		tasks->refused++;
		return false;
	}
	tasks->bound++;
	return true;
}
