/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory goes with its user: at its word, and when it is killed. */
#include "tests/tap.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/process/tmp_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void test_close(void)
{
	struct tmp_dir dir = { 0 };
	struct error err;
	struct stat st;

	tmp_dir_close(&dir);
	tap_ok(fcntl(STDIN_FILENO, F_GETFD) >= 0, "closing none closes nothing");
	if (tmp_dir_open("/tmp", &dir, &err) < 0)
		tap_bail(err.text);
	owned(free_ptr) char *path = xstrdup(dir.path);

	tap_ok(fstat(dir.fd, &st) == 0 && (st.st_mode & 07777) == 0700, "it is its user's alone");
	tap_ok(mkdirat(dir.fd, "a", 0700) == 0 && mkdirat(dir.fd, "a/b", 0) == 0, "it is filled");
	/* A copy of the socket in another process must not keep the directory, nor its user, waiting. */
	pid_t holder = fork();

	if (holder == 0) {
		(void)pause();
		_exit(0);
	}
	tmp_dir_close(&dir);
	tap_ok(!is_there(path), "closed, it is gone with all in it");
	(void)kill(holder, SIGKILL);
	(void)waitpid(holder, NULL, 0);
}

static void test_kill(void)
{
	int pipe_fds[2];
	char path[64] = "";
	pid_t pid;

	if (pipe(pipe_fds) < 0 || (pid = fork()) < 0)
		tap_bail("fork");
	if (pid == 0) {
		struct tmp_dir dir;
		struct error err;

		if (tmp_dir_open("/tmp", &dir, &err) == 0)
			(void)!write(pipe_fds[1], dir.path, strlen(dir.path));
		(void)pause();
	}
	(void)!read(pipe_fds[0], path, sizeof(path) - 1);
	tap_ok(is_there(path), "another process has one");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	for (int i = 0; i < 30000 && is_there(path); i++)
		(void)usleep(1000);
	tap_ok(!is_there(path), "killed, it leaves none");
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
}

int main(void)
{
	test_close();
	test_kill();
	return tap_done();
}
