/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: whole reads and writes, and passing them between processes. */
#include "base/file/fd.h"

#include "base/core/clock.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS_PER_MESSAGE 16

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int fd_wait(int fd, short events, int ms)
{
	struct pollfd ready = { .fd = fd, .events = events };
	int count = poll(&ready, 1, ms);

	return count > 0 ? ready.revents : count;
}

int fd_wait_until(int fd, short events, uint64_t until_ns)
{
	for (;;) {
		uint64_t now_ns = clock_now_ns();
		uint64_t left_ms = now_ns < until_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;
		int ready = fd_wait(fd, events, left_ms > INT_MAX ? INT_MAX : (int)left_ms);

		if (ready > 0 || (ready == 0 && left_ms == 0) || (ready < 0 && errno != EINTR))
			return ready;
	}
}

int fd_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t done = write(fd, at, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

ssize_t fd_read_at(int fd, void *buffer, size_t size, off_t at)
{
	size_t len = 0;

	while (len < size) {
		ssize_t got = pread(fd, (char *)buffer + len, size - len, at + (off_t)len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

int fd_read_all(int fd, size_t limit, struct str *ret_text)
{
	/* No larger: a part of every start, where an untouched page of the stack costs as much as a call. */
	char chunk[4096];

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			return 0;
		if (ret_text->len + (size_t)got > limit) {
			errno = EFBIG;
			return -1;
		}
		str_add_bytes(ret_text, chunk, (size_t)got);
	}
}

int file_open(int dir_fd, const char *path, int flags, struct stat *ret_st)
{
	int no_follow = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	owned(fd_close) int fd = -1;
	struct stat st;

	if (fstatat(dir_fd, path, &st, no_follow) < 0)
		return -1;
	/* open() gives a better error for a link. */
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) {
		fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
		if (fd < 0 || fstat(fd, &st) < 0)
			return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
		return -1;
	}
	if (ret_st)
		*ret_st = st;
	return fd_take(&fd);
}

bool file_is_other_kind(int errnum)
{
	return errnum == EISDIR || errnum == ENXIO;
}

int file_read(int dir_fd, const char *path, size_t limit, struct str *ret_text, struct error *err)
{
	owned(fd_close) int fd = file_open(dir_fd, path, 0, NULL);

	if (fd < 0 && file_is_other_kind(errno))
		return error_set(err, ERROR_INPUT, "%s: not a regular file", path);
	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	if (fd_read_all(fd, limit, ret_text) < 0) {
		if (errno == EFBIG)
			return error_set(err, ERROR_INPUT, "%s: larger than %zu bytes", path,
					 limit);
		return error_errno(err, ERROR_HOST, "%s", path);
	}
	return 0;
}

ssize_t file_read_small(int dir_fd, const char *path, char *buffer, size_t size)
{
	owned(fd_close) int fd = file_open(dir_fd, path, 0, NULL);
	ssize_t got;

	if (fd < 0)
		return -1;
	/* Such files come whole in one read when there is room for them. */
	do {
		got = read(fd, buffer, size - 1);
	} while (got < 0 && errno == EINTR);
	buffer[got > 0 ? got : 0] = '\0';
	return got;
}

int file_write_small(int dir_fd, const char *path, const char *text)
{
	owned(fd_close) int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return -1;
	return write(fd, text, len) == (ssize_t)len ? 0 : -1;
}

/*
 * The kernel's MSG_PROBE, without a name in the C library: a Unix socket ignores it, IP sends nothing with it. The
 * payload's filter passes such a call, so descriptors can be sent before the supervisor answers for the filter.
 */
#define FLAG_PROBE 0x10

int fd_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t count)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * FDS_PER_MESSAGE)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_len = len };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(&iov.iov_base, &bytes, sizeof(bytes));
	if (count > FDS_PER_MESSAGE) {
		errno = EINVAL;
		return -1;
	}
	if (count > 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = control.space;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *head = &control.align;

		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * count);
	}
	for (;;) {
		ssize_t sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL | FLAG_PROBE);

		if (sent < 0 && errno == EINTR)
			continue;
		return sent == (ssize_t)len ? 0 : -1;
	}
}

/* How many came, with those that are not kept. */
static size_t keep_descriptors(struct msghdr *message, int *ret_fds, size_t max, size_t *ret_count)
{
	size_t came = 0;

	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head;
	     head = CMSG_NXTHDR(message, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		came += count;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
			if (*ret_count < max)
				ret_fds[(*ret_count)++] = fd;
			else
				close(fd);
		}
	}
	return came;
}

ssize_t fd_receive(int socket_fd, void *buffer, size_t size, int *ret_fds, size_t max,
		   size_t *ret_count)
{
	union {
		char space[CMSG_SPACE(sizeof(int) * FDS_PER_MESSAGE)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = buffer, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t got;

	*ret_count = 0;
	/*
	 * A peer that closes with messages of ours unread leaves a reset in front of its own last messages; it is reported
	 * once, and the messages are the better answer.
	 */
	do {
		got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got < 0)
		return got;
	size_t came = keep_descriptors(&message, ret_fds, max, ret_count);

	/* There was room for more of them here, but none in this process: the kernel keeps that to itself. */
	if (!(message.msg_flags & MSG_CTRUNC) || came == FDS_PER_MESSAGE)
		return got;
	while (*ret_count > 0)
		close(ret_fds[--*ret_count]);
	errno = EMFILE;
	return -1;
}

void fd_close_others(const int *keep, size_t count)
{
	int last = -1;

	for (;;) {
		int next = -1;

		for (size_t i = 0; i < count; i++) {
			if (keep[i] > last && (next < 0 || keep[i] < next))
				next = keep[i];
		}
		unsigned from = (unsigned)(last + 1);

		if (next < 0) {
			(void)close_range(from, ~0U, 0);
			return;
		}
		if ((unsigned)next > from)
			(void)close_range(from, (unsigned)next - 1, 0);
		last = next;
	}
}

int fd_watch(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}
