/* SPDX-License-Identifier: Apache-2.0 */
/* One program run for a service: as its user, without a shell and without input, for a bounded time. */
#include "services/instant.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/file/real_path.h"
#include "base/process/child.h"
#include "base/process/parent_end.h"
#include "base/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT_MAX 65536
/* Where a program has the directory that it fills. */
#define DIR_FD 3

/* Whether only root can change what lies at PATH, the directories above it included. */
static bool is_roots(const char *path)
{
	owned(free_ptr) char *real = path_real(path);

	for (char *slash = real ? real + strlen(real) : NULL; slash;
	     slash = real[1] ? strrchr(real, '/') : NULL) {
		struct stat st;

		slash[slash == real] = '\0';
		if (lstat(real, &st) < 0 || st.st_uid != 0 || (st.st_mode & 0022))
			return false;
	}
	return real != NULL;
}

static int check_program(const char *path, struct error *err)
{
	if (path[0] != '/' || access(path, X_OK) < 0)
		return error_advise(err, ERROR_DENIED, "install the service's client programs",
				    "%.200s cannot be run", path);
	if (geteuid() == 0 && !is_roots(path))
		return error_set(err, ERROR_DENIED, "%.200s: others than root may change it", path);
	return 0;
}

int service_become(const struct service *service)
{
	struct parent_end wish;

	if (geteuid() != 0)
		return 0;
	parent_end_note(&wish);
	if (clearenv() != 0 || setenv("PATH", "/usr/bin:/bin", 1) < 0 || setenv("HOME", "/", 1) < 0)
		return -1;
	if (setgroups(0, NULL) < 0 || setresgid(service->gid, service->gid, service->gid) < 0 ||
	    setresuid(service->uid, service->uid, service->uid) < 0)
		return -1;
	parent_end_renew(&wish);
	return 0;
}

/* Nothing of ours is needed at that number any more. */
static int give_directory(int dir_fd)
{
	return dir_fd == DIR_FD ? fcntl(DIR_FD, F_SETFD, 0) : dup2(dir_fd, DIR_FD);
}

static _Noreturn void run_program(const struct service *service, const struct strv *words,
				  int dir_fd, int out_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	process_heed_signals();
	(void)setpgid(0, 0);
	if (null_fd < 0 || (dir_fd < 0 ? chdir("/") : fchdir(dir_fd)) < 0 ||
	    service_become(service) < 0 || dup2(null_fd, 0) < 0 || dup2(out_fd, 1) < 0 ||
	    dup2(out_fd, 2) < 0 || (dir_fd >= 0 && give_directory(dir_fd) < 0))
		_exit(126);
	(void)execv(words->items[0], words->items);
	_exit(127);
}

/* Reads until the end, or UNTIL_NS; what is too much is passed over. */
static bool read_output(int fd, uint64_t until_ns, struct str *ret_output)
{
	char bytes[4096];

	for (;;) {
		if (fd_wait_until(fd, POLLIN, until_ns) <= 0)
			return false;
		ssize_t got = read(fd, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		if (ret_output->len + (size_t)got <= OUTPUT_MAX)
			str_add_bytes(ret_output, bytes, (size_t)got);
	}
}

int service_do(const struct service *service, int (*act)(void *cookie, struct error *err),
	       void *cookie, struct error *err)
{
	struct error told = { 0 };
	owned(fd_close) int fd = -1;

	if (geteuid() != 0)
		return act(cookie, err);
	pid_t pid = child_fork(CHILD_WRITES, SIGKILL, &fd, err);

	if (pid == 0) {
		if (service_become(service) < 0)
			error_errno(&told, ERROR_HOST, "uid %u", service->uid);
		else if (act(cookie, &told) == 0)
			told.code = ERROR_NONE;
		_exit(fd_write_all(fd, &told, sizeof(told)) < 0);
	}
	if (pid < 0)
		return -1;
	ssize_t got = read(fd, &told, sizeof(told));
	int code = child_exit_code(child_wait(pid));

	if (got != (ssize_t)sizeof(told) || code != 0 ||
	    (told.code != ERROR_NONE && !error_is_sane(&told)))
		return error_set(err, ERROR_HOST, "the process that copies %s was ended",
				 service->name);
	*err = told;
	return told.code == ERROR_NONE ? 0 : -1;
}

void service_answer_done(struct service_answer *answer)
{
	str_done(&answer->text);
}

pid_t service_serve(const struct service *service, const struct strv *words, int dir_fd,
		    int *ret_fd, struct error *err)
{
	if (words->count == 0 || check_program(words->items[0], err) < 0)
		return words->count ? -1 : error_set(err, ERROR_INTERNAL, "a recipe runs nothing");
	pid_t pid = child_fork(CHILD_WRITES, SIGKILL, ret_fd, err);

	if (pid == 0)
		run_program(service, words, dir_fd, *ret_fd);
	return pid;
}

int service_ask(const struct service *service, const struct strv *words, int dir_fd,
		uint64_t until_ns, struct service_answer *ret_answer, struct error *err)
{
	owned(fd_close) int fd = -1;
	int status = 0;
	pid_t pid = service_serve(service, words, dir_fd, &fd, err);

	if (pid < 0)
		return -1;
	bool is_whole = read_output(fd, until_ns, &ret_answer->text);
	uint64_t now_ns = clock_now_ns();
	bool is_in_time = child_wait_within(
		pid, is_whole && until_ns > now_ns ? (until_ns - now_ns) / 1000000 + 1 : 0,
		&status);

	if (!is_whole || !is_in_time)
		return error_set(err, ERROR_HOST, "%.200s does not come to an end",
				 words->items[0]);
	ret_answer->code = child_exit_code(status);
	return 0;
}
