/* SPDX-License-Identifier: Apache-2.0 */
/* The process that unpacks archives reaches its directory and nothing else, whatever is made of it. */
#include "tests/tap.h"

#include "app/image/unpack.h"
#include "base/core/own.h"
#include "base/process/child.h"
#include "base/process/tmp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static bool can_read(int dir_fd)
{
	(void)dir_fd;
	owned(fd_close) int fd = open("/etc/passwd", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0;
}

static bool can_write_beside(int dir_fd)
{
	owned(fd_close) int fd =
		openat(dir_fd, "../beside", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return fd >= 0;
}

static bool can_connect(int dir_fd)
{
	(void)dir_fd;
	owned(fd_close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0;
}

static bool can_fork(int dir_fd)
{
	(void)dir_fd;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool can_make_device(int dir_fd)
{
	(void)unlinkat(dir_fd, "device", 0);
	return mknodat(dir_fd, "device", S_IFCHR | 0600, makedev(1, 3)) == 0;
}

static bool can_write(int dir_fd)
{
	owned(fd_close) int fd =
		openat(dir_fd, "own", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return fd >= 0;
}

static bool can_mark(int dir_fd)
{
	(void)unlinkat(dir_fd, "mark", 0);
	return mknodat(dir_fd, "mark", S_IFCHR, 0) == 0;
}

/* Whether DEED works in a child, locked down or not. 2: it could not be locked down. */
static int works(bool (*deed)(int), int dir_fd, bool is_locked)
{
	struct error err;
	int ignored, status;
	pid_t pid = child_fork(CHILD_ALONE, 0, &ignored, &err);

	if (pid == 0) {
		if (is_locked && unpack_lockdown(dir_fd) < 0)
			_exit(2);
		_exit(deed(dir_fd) ? 0 : 1);
	}
	status = child_wait(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void try_all(int fd)
{
	static const struct {
		const char *what;
		bool (*deed)(int);
		bool is_allowed;
	} rows[] = {
		{ "reading another file", can_read, false },
		{ "writing beside its directory", can_write_beside, false },
		{ "a socket", can_connect, false },
		{ "another process", can_fork, false },
		{ "a device", can_make_device, false },
		{ "writing below its directory", can_write, true },
		{ "a mark of deletion", can_mark, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].deed == can_make_device && geteuid() != 0) {
			tap_skip(2, "only root can make devices");
			continue;
		}
		tap_ok(works(rows[i].deed, fd, false) == 0, "%s: works without it", rows[i].what);
		tap_ok(works(rows[i].deed, fd, true) == !rows[i].is_allowed, "%s: %s", rows[i].what,
		       rows[i].is_allowed ? "still works" : "refused");
	}
}

int main(void)
{
	owned(tmp_dir_close) struct tmp_dir dir = { 0 };
	owned(fd_close) int fd = -1;
	struct error err;

	if (tmp_dir_open("/tmp", &dir, &err) < 0 || mkdirat(dir.fd, "layer", 0700) < 0)
		tap_bail("no directory to work in");
	fd = openat(dir.fd, "layer", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (works(can_write, fd, true) == 2) {
		tap_skip(1, "this kernel has no Landlock");
	} else {
		try_all(fd);
	}
	fd_close(&fd);
	tmp_dir_close(&dir);
	return tap_done();
}
