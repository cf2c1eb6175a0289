/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal that was sent is not one that was taken: a process stops when it next comes to run, and goes on writing until
 * then. So all are signalled and looked at, again and again, until a look finds every thread stopped.
 *
 * The kernel signals them under the lock that a fork needs, and a fork with a signal pending starts anew: there is no
 * child that has none. One that still runs can wake another by SIGCONT; the next round stops that again.
 */
#include "launch/exec/halt.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/dir.h"
#include "base/file/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Less than what a client waits for an answer. Where the processor is short, every process must get at it once. */
#define HALT_MS 8000u
/* For those that no signal reaches, once all others have stopped; and before one is taken to wait for its child. */
#define DEEP_MS 2000u
#define CHILD_MS 20u
#define PAUSE_NS 1000000
/* PF_FORKNOEXEC, of the flags in stat: the process runs what its parent ran. */
#define HAS_NO_EXEC 0x40u

/* What one look found. */
struct look {
	size_t running, deep; /* threads on their way, or in a sleep that no signal ends */
	pid_t pid;	      /* of such a process */
	char name[64];
};

struct thread {
	char state, name[64];
	pid_t parent;
	unsigned flags;
};

/* The name is in brackets, and may hold any character. */
static bool read_thread(int dir_fd, const char *path, struct thread *ret)
{
	char text[512];

	if (file_read_small(dir_fd, path, text, sizeof(text)) <= 0)
		return false;
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	int parent;

	if (!name || !end || end < name ||
	    sscanf(end + 1, " %c %d %*d %*d %*d %*d %u", &ret->state, &parent, &ret->flags) != 3)
		return false;
	ret->parent = (pid_t)parent;
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(end - name - 1), name + 1);
	return true;
}

static bool is_number(const char *name)
{
	return name[0] >= '1' && name[0] <= '9';
}

/* A process that waits for the exec of a vfork: its child has stopped on the way there. */
static bool waits_for_child(int proc_fd, pid_t pid)
{
	owned(dir_close) DIR *proc = dir_open(proc_fd, ".");
	struct dirent *entry;

	while (dir_next(proc, &entry) > 0) {
		char path[32];
		struct thread child;

		(void)snprintf(path, sizeof(path), "%.10s/stat", entry->d_name);
		if (is_number(entry->d_name) && read_thread(proc_fd, path, &child) &&
		    child.parent == pid && child.state == 'T' && (child.flags & HAS_NO_EXEC))
			return true;
	}
	return false;
}

static void look_at_thread(const struct thread *thread, pid_t pid, struct look *look)
{
	/* Stopped, traced and stopped, over. */
	if (strchr("TtZXx", thread->state))
		return;
	if (thread->state == 'D')
		look->deep++;
	else
		look->running++;
	look->pid = pid;
	memcpy(look->name, thread->name, sizeof(look->name));
}

/* Every thread of the process: the first one may have ended or stopped while others run. */
static void look_at_process(int proc_fd, const char *name, struct look *look)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%.10s/task", name);
	owned(dir_close) DIR *tasks = dir_open(proc_fd, path);
	struct dirent *entry;

	while (dir_next(tasks, &entry) > 0) {
		struct thread thread;

		(void)snprintf(path, sizeof(path), "%.10s/stat", entry->d_name);
		if (is_number(entry->d_name) && read_thread(dirfd(tasks), path, &thread))
			look_at_thread(&thread, (pid_t)strtol(name, NULL, 10), look);
	}
}

static int look_at_all(int proc_fd, bool is_patient, struct look *ret_look)
{
	owned(dir_close) DIR *proc = dir_open(proc_fd, ".");
	struct dirent *entry;

	*ret_look = (struct look){ 0 };
	if (!proc)
		return -1;
	while (dir_next(proc, &entry) > 0) {
		struct look one = { 0 };

		if (!is_number(entry->d_name) || strcmp(entry->d_name, "1") == 0)
			continue;
		look_at_process(proc_fd, entry->d_name, &one);
		if (one.running + one.deep == 0 ||
		    (one.running == 0 && is_patient && waits_for_child(proc_fd, one.pid)))
			continue;
		one.running += ret_look->running;
		one.deep += ret_look->deep;
		*ret_look = one;
	}
	return 0;
}

static int refuse(const struct look *look, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (look->running > 0)
		return error_set(err, ERROR_CONFLICT, "process %d (%s) inside does not stop",
				 look->pid, str_shown(look->name, shown));
	return error_advise(
		err, ERROR_CONFLICT, "try again when it is through, or end it",
		"process %d (%s) inside cannot be stopped now: it waits for a device or a "
		"filesystem, where no signal reaches it",
		look->pid, str_shown(look->name, shown));
}

int halt_all(int proc_fd, struct error *err)
{
	const struct timespec rest = { .tv_nsec = PAUSE_NS };
	const uint64_t begun_ns = clock_now_ns();
	uint64_t ran_ns = begun_ns; /* when one was last seen that a signal reaches */

	for (;;) {
		const uint64_t deep_ms = (clock_now_ns() - ran_ns) / 1000000;
		struct look look;

		(void)kill(-1, SIGSTOP);
		if (look_at_all(proc_fd, deep_ms >= CHILD_MS, &look) < 0)
			return error_errno(err, ERROR_HOST, "cannot see whether all have stopped");
		if (look.running + look.deep == 0)
			return 0;
		if (look.running > 0)
			ran_ns = clock_now_ns();
		if (look.running > 0 ? clock_now_ns() - begun_ns >= HALT_MS * 1000000ull
				     : deep_ms >= DEEP_MS)
			return refuse(&look, err);
		(void)nanosleep(&rest, NULL);
	}
}
