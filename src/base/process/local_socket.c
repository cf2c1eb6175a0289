/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets in directories of one user's own. */
#include "base/process/local_socket.h"

#include "base/core/own.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void address_of(int dir_fd, const char *name, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
		       "/proc/self/fd/%d/%.80s", dir_fd, name);
}

int local_socket_listen(int dir_fd, const char *name, int waiting_max)
{
	owned(fd_close) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	address_of(dir_fd, name, &address);
	/* The mode of the socket is what the file gets. */
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, waiting_max) < 0)
		return -1;
	return fd_take(&fd);
}

int local_socket_connect(int dir_fd, const char *name, unsigned wait_ms)
{
	owned(fd_close) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	const struct timeval wait = { .tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000 };

	address_of(dir_fd, name, &address);
	if (fd >= 0 && wait_ms)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return fd_take(&fd);
}

int local_socket_accept(int listen_fd, int flags)
{
	for (;;) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | flags);

		if (fd < 0 ? errno != EINTR : local_socket_is_ours(fd))
			return fd;
		fd_close(&fd);
	}
}

bool local_socket_is_ours(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}
