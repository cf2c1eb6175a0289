/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: whole reads with a bound, special files refused, passing between processes. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int scratch_fd = -1;

static void write_scratch(const char *name, const char *text)
{
	owned(fd_close) int fd =
		openat(scratch_fd, name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		tap_bail("cannot write to the scratch directory");
}

static void test_files(void)
{
	owned(str_done) struct str text = STR_INIT, more = STR_INIT;
	char small[8];
	struct error err = { 0 };

	write_scratch("f", "hello world");
	tap_ok(file_read(scratch_fd, "f", 11, &text, &err) == 0, "a file at the limit is read");
	tap_is_str(str_cstr(&text), "hello world", "whole");
	tap_ok(file_read(scratch_fd, "f", 10, &more, &err) < 0 && err.code == ERROR_INPUT,
	       "one beyond it is not: %s", err.text);
	tap_ok(file_read(scratch_fd, "none", 10, &more, &err) < 0 && err.code == ERROR_NOT_FOUND,
	       "a missing one is told: %s", err.text);
	tap_is_int(file_read_small(scratch_fd, "f", small, sizeof(small)), 7,
		   "a small buffer is filled");
	tap_is_str(small, "hello w", "and ended");
	tap_ok(file_read_small(scratch_fd, "none", small, sizeof(small)) < 0 && errno == ENOENT,
	       "a missing small file is told");
	tap_ok(file_write_small(scratch_fd, "f", "HE") == 0, "a small write");
	tap_ok(file_write_small(scratch_fd, "none", "x") < 0, "never makes a file");
	if (mkfifoat(scratch_fd, "fifo", 0600) < 0)
		tap_bail("cannot make a fifo");
	tap_ok(file_read(scratch_fd, "fifo", 10, &more, &err) < 0 && err.code == ERROR_INPUT,
	       "a fifo does not hang: %s", err.text);
	tap_ok(file_read_small(scratch_fd, "fifo", small, sizeof(small)) < 0 && errno == ENXIO,
	       "nor where little is read");
	tap_ok(file_read_small(AT_FDCWD, "/dev/zero", small, sizeof(small)) < 0 && errno == ENXIO,
	       "a device is not opened");
	tap_ok(file_open(scratch_fd, ".", 0, NULL) < 0 && errno == EISDIR, "a directory is named");
	tap_ok(file_read(AT_FDCWD, "/dev/zero", 10, &more, &err) < 0 && err.code == ERROR_INPUT,
	       "a device is no file: %s", err.text);
	tap_ok(file_read(AT_FDCWD, "/", 10, &more, &err) < 0, "nor is a directory: %s", err.text);
}

static void test_places(void)
{
	owned(fd_close) int fd = openat(scratch_fd, "f", O_RDONLY | O_CLOEXEC);
	int pipe_fds[2];
	char bytes[8] = "";

	tap_ok(fd_read_at(fd, bytes, 3, 2) == 3 && memcmp(bytes, "llo", 3) == 0, "from a place on");
	tap_is_int(fd_read_at(fd, bytes, sizeof(bytes), 8), 3, "up to the end");
	tap_is_int(fd_read_at(fd, bytes, sizeof(bytes), 100), 0, "behind it nothing");
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		tap_bail("cannot make a pipe");
	tap_ok(fd_read_at(pipe_fds[0], bytes, 1, 0) < 0 && errno == ESPIPE, "a pipe has no places");
	fd_close(&pipe_fds[0]);
	fd_close(&pipe_fds[1]);
}

static void test_ends(void)
{
	owned(fd_close) int null = open("/dev/full", O_WRONLY | O_CLOEXEC);
	owned(fd_close) int taken_from = dup(null);
	owned(str_done) struct str text = STR_INIT;
	int taken = fd_take(&taken_from);

	tap_ok(taken_from == -1 && taken >= 0, "a descriptor can be taken");
	fd_close(&taken);
	errno = EDOM;
	fd_close(&taken);
	tap_ok(taken == -1 && errno == EDOM, "closing nothing leaves errno alone");
	tap_ok(fd_write_all(null, "x", 1) < 0 && errno == ENOSPC, "a full disk is told");
	tap_ok(fd_write_all(-1, "x", 0) == 0, "nothing can be written anywhere");
	tap_ok(fd_read_all(null, 10, &text) < 0, "what cannot be read is told");
}

static void test_passing(void)
{
	int pair[2], got[2], many[17] = { 0 };
	size_t count = 9;
	char buffer[8];
	const int two[] = { 0, 1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		tap_bail("cannot make a socket pair");
	tap_ok(fd_send(pair[0], "ab", 2, two, 2) == 0, "two descriptors are sent");
	tap_is_int(fd_receive(pair[1], buffer, sizeof(buffer), got, 1, &count), 2, "bytes arrive");
	tap_is_int((long long)count, 1, "one is kept");
	tap_ok(fcntl(got[0], F_GETFD) & FD_CLOEXEC,
	       "it is close-on-exec; the surplus one is closed");
	fd_close(&got[0]);
	tap_ok(fd_send(pair[0], "x", 1, many, 17) < 0 && errno == EINVAL, "17 are too many");
	tap_ok(fd_send(pair[0], "x", 1, NULL, 0) == 0, "bytes alone can be sent");
	tap_ok(fd_receive(pair[1], buffer, sizeof(buffer), got, 2, &count) == 1 && count == 0,
	       "and come alone");
	fd_close(&pair[0]);
	tap_is_int(fd_receive(pair[1], buffer, sizeof(buffer), got, 2, &count), 0,
		   "the end is seen");
	tap_ok(fd_send(pair[1], "x", 1, NULL, 0) < 0 && errno == EPIPE,
	       "no signal kills the sender");
	fd_close(&pair[1]);
}

/* A child that fails before it has read what it was sent: why it failed must still arrive. */
static void test_last_words(void)
{
	int pair[2];
	size_t count = 0;
	char buffer[8] = { 0 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		tap_bail("cannot make a socket pair");
	(void)fd_send(pair[0], "unread", 6, NULL, 0);
	(void)fd_send(pair[1], "why", 3, NULL, 0);
	fd_close(&pair[1]);
	tap_is_int(fd_receive(pair[0], buffer, sizeof(buffer), NULL, 0, &count), 3,
		   "words before a reset arrive");
	tap_is_str(buffer, "why", "whole");
	tap_is_int(fd_receive(pair[0], buffer, sizeof(buffer), NULL, 0, &count), 0,
		   "then the end is seen");
	fd_close(&pair[0]);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a child: it closes nearly everything. */
static void test_closing_others(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		int low = dup2(0, 20), high = dup2(0, 40), kept = dup2(0, 30);
		const int keep[] = { 1, kept, -1, 0, 2 };

		fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
		_exit(is_open(0) && is_open(1) && is_open(2) && is_open(kept) && !is_open(low) &&
				      !is_open(high)
			      ? 0
			      : 1);
	}
	tap_ok(waitpid(child, &status, 0) == child && status == 0,
	       "all but those named are closed");
}

/* Descriptors that find no place are no message with fewer of them: what counts them would go on without. */
static void test_no_room(void)
{
	const int two[] = { 0, 1 };
	struct rlimit before, narrow;
	int pair[2], got[2];
	size_t count = 9;
	char byte;

	if (getrlimit(RLIMIT_NOFILE, &before) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		tap_bail("cannot make a socket pair");
	narrow = before;
	for (int room = 0; room < 2; room++) {
		/* The lowest number that is free is the last that is permitted, or one beyond it. */
		int next = dup(0);

		close(next);
		narrow.rlim_cur = (rlim_t)(next + room);
		(void)fd_send(pair[0], "x", 1, two, 2);
		(void)setrlimit(RLIMIT_NOFILE, &narrow);
		errno = 0;
		tap_ok(fd_receive(pair[1], &byte, 1, got, 2, &count) < 0 && errno == EMFILE &&
			       count == 0,
		       "room for %d of two descriptors is told", room);
		(void)setrlimit(RLIMIT_NOFILE, &before);
	}
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

int main(void)
{
	char path[] = "/tmp/aisbx-test-fd-XXXXXX";

	if (!mkdtemp(path))
		tap_bail("cannot make a scratch directory");
	scratch_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_files();
	test_places();
	test_ends();
	test_passing();
	test_no_room();
	test_last_words();
	test_closing_others();
	(void)unlinkat(scratch_fd, "f", 0);
	(void)unlinkat(scratch_fd, "fifo", 0);
	fd_close(&scratch_fd);
	(void)rmdir(path);
	return tap_done();
}
