/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's janitor: a process that removes the groups a killed daemon leaves. */
#include "app/pool/pool_state.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_PAUSE_MS 10
#define SWEEP_MS 10000

/* Whether there are groups of that name, also below an owner's; those of runs under way stay, and are their callers'. */
static bool has_some(const char *place, const char *prefix)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, place);
	struct dirent *entry;
	bool is_there = false;

	while (dir && !is_there && dir_next(dir, &entry) > 0) {
		bool is_owner = str_starts(entry->d_name, SPEC_OWNER_PREFIX);
		owned(free_ptr) char *inner =
			is_owner ? xasprintf("%s/%s", place, entry->d_name) : NULL;

		is_there = inner ? has_some(inner, prefix) : str_starts(entry->d_name, prefix);
	}
	return is_there;
}

/* Waits for the daemon's end; what it made then ends by itself, and leaves its groups. */
static _Noreturn void janitor_main(int fd, const char *prefix)
{
	owned(strv_done) struct strv places = STRV_INIT;
	char path[4096];
	ssize_t got;

	fd_close_others(&fd, 1);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "aisbx-janitor", 0, 0, 0);
	while ((got = recv(fd, path, sizeof(path), 0)) > 0 || (got < 0 && errno == EINTR)) {
		if (got > 0 && path[got - 1] == '\0' && !strv_has(&places, path))
			strv_add(&places, path);
	}
	for (unsigned waited = 0; waited < SWEEP_MS; waited += SWEEP_PAUSE_MS) {
		struct timespec pause = { .tv_nsec = SWEEP_PAUSE_MS * 1000000 };
		bool is_ending = false;

		for (size_t i = 0; i < places.count; i++) {
			(void)cgroup_sweep_place(places.items[i], NULL);
			is_ending |= has_some(places.items[i], prefix);
		}
		if (!is_ending)
			break;
		(void)nanosleep(&pause, NULL);
	}
	_exit(0);
}

int pool_janitor_start(int *ret_fd, struct error *err)
{
	char prefix[OWNER_NAME_SIZE];
	int ends[2];
	pid_t pid;

	owner_name("", prefix);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "socket");
	pid = fork();
	if (pid == 0)
		janitor_main(ends[0], prefix);
	close(ends[0]);
	*ret_fd = ends[1];
	return pid < 0 ? error_errno(err, ERROR_HOST, PROCESS_REFUSED) : 0;
}
