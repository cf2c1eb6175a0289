/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's socket: in the sandbox's directory, for its owner only. */
#include "base/process/local_socket.h"
#include "supervise/sandbox/supervisor.h"

#include <errno.h>
#include <unistd.h>

#define WAITING_MAX 128

int supervisor_listen(int dir_fd, int *ret_fd, struct error *err)
{
	(void)unlinkat(dir_fd, SUPERVISOR_SOCKET, 0);
	*ret_fd = local_socket_listen(dir_fd, SUPERVISOR_SOCKET, WAITING_MAX);
	return *ret_fd < 0 ? error_errno(err, ERROR_HOST, "the sandbox's socket") : 0;
}

int supervisor_connect(int dir_fd, int *ret_fd, struct error *err)
{
	*ret_fd = local_socket_connect(dir_fd, SUPERVISOR_SOCKET, 0);
	if (*ret_fd >= 0)
		return 0;
	return error_errno(err,
			   errno == ENOENT || errno == ECONNREFUSED ? ERROR_NOT_FOUND : ERROR_HOST,
			   "the sandbox's socket");
}
