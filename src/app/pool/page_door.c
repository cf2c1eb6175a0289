/* SPDX-License-Identifier: Apache-2.0 */
/* The door to the page, from both sides. */
#include "app/pool/page_door.h"

#include "app/pool/pool_peer.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/process/local_socket.h"
#include "base/process/loopback.h"
#include "base/core/own.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define DOOR "page.sock"
#define WAITING_MAX 16
#define ANSWER_MS 15000

static int open_runtime(int *ret_dir, struct error *err)
{
	owned(host_done) struct host host = { 0 };

	if (host_read(&host, err) < 0)
		return -1;
	*ret_dir = host_open_runtime(&host, err);
	return *ret_dir < 0 ? -1 : 0;
}

int page_door_open(const char *address, int *ret_listen_fd, int *ret_door_fd, struct error *err)
{
	owned(fd_close) int dir_fd = -1, listen_fd = -1;

	if (open_runtime(&dir_fd, err) < 0 ||
	    loopback_listen("--http", address, &listen_fd, err) < 0)
		return -1;
	owned(fd_close) int other_fd = local_socket_connect(dir_fd, DOOR, ANSWER_MS);

	if (other_fd >= 0)
		return error_advise(err, ERROR_CONFLICT, "`aisbx daemon stop` ends it",
				    "a daemon with a page is running already");
	/* A dead one's. */
	(void)unlinkat(dir_fd, DOOR, 0);
	*ret_door_fd = local_socket_listen(dir_fd, DOOR, WAITING_MAX);
	if (*ret_door_fd < 0)
		return error_errno(err, ERROR_HOST, DOOR);
	*ret_listen_fd = fd_take(&listen_fd);
	return 0;
}

void page_door_close(void)
{
	owned(fd_close) int dir_fd = -1;
	struct error ignored;

	if (open_runtime(&dir_fd, &ignored) == 0)
		(void)unlinkat(dir_fd, DOOR, 0);
}

bool page_door_is_welcome(int fd)
{
	struct pool_peer peer = { .pidfd = -1 };
	bool is_equal = local_socket_is_ours(fd) && pool_peer_is_equal(fd, &peer);

	pool_peer_done(&peer);
	return is_equal;
}

int page_door_ask(char **ret_address, struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	char address[PAGE_ADDRESS_MAX];
	ssize_t got = -1;

	if (open_runtime(&dir_fd, err) < 0)
		return -1;
	owned(fd_close) int fd = local_socket_connect(dir_fd, DOOR, ANSWER_MS);
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	if (fd < 0 && (errno == ENOENT || errno == ECONNREFUSED))
		return error_advise(
			err, ERROR_NOT_FOUND,
			"start a daemon with it: aisbx daemon start --http 127.0.0.1:8380",
			"there is no page: no daemon serves one");
	if (fd >= 0 && local_socket_is_ours(fd) && poll(&ready, 1, ANSWER_MS) == 1)
		got = recv(fd, address, sizeof(address), 0);
	if (got <= 0)
		return error_advise(err, ERROR_DENIED, "ask from where the daemon was started",
				    "the page does not answer, or refuses this process, which is "
				    "confined otherwise");
	*ret_address = xstrndup(address, (size_t)got);
	return 0;
}
