/* The keeper's socket: in the sandbox's directory, for its owner only. */
#include "base/own.h"
#include "keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MAX 128

/* By descriptor: the store's path may be longer than an address has room for. */
static void name(int dir_fd, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
		       "/proc/self/fd/%d/" KEEPER_SOCKET, dir_fd);
}

int keeper_listen(int dir_fd, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	name(dir_fd, &address);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "socket");
	(void)unlinkat(dir_fd, KEEPER_SOCKET, 0);
	/* The mode of the socket is what the file gets; nobody else can even look into the directory. */
	if (fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, WAITING_MAX) < 0)
		return error_errno(err, ERROR_HOST, "the sandbox's socket");
	*ret_fd = fd_take(&fd);
	return 0;
}

int keeper_connect(int dir_fd, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	name(dir_fd, &address);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err,
				   errno == ENOENT || errno == ECONNREFUSED ? ERROR_NOT_FOUND
									    : ERROR_HOST,
				   "the sandbox's socket");
	*ret_fd = fd_take(&fd);
	return 0;
}
