/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen on the loopback and nowhere else, whatever is written. */
#include "base/process/loopback.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static int read_address(const char *flag, const char *text, union address *ret, struct error *err)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	owned(free_ptr) char *host = xstrndup(text, len);
	char *end = NULL;
	unsigned long port = colon && colon[1] ? strtoul(colon + 1, &end, 10) : 65536;

	memset(ret, 0, sizeof(*ret));
	if (port > 65535 || !end || *end)
		return error_set(err, ERROR_USAGE, "%s %.40s: write 127.0.0.1:PORT", flag, text);
	if (strcmp(host, "127.0.0.1") == 0 || strcmp(host, "localhost") == 0) {
		ret->four = (struct sockaddr_in){ .sin_family = AF_INET,
						  .sin_port = htons((uint16_t)port),
						  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		return 0;
	}
	if (strcmp(host, "[::1]") == 0) {
		ret->six = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						  .sin6_port = htons((uint16_t)port),
						  .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		return 0;
	}
	return error_advise(err, ERROR_USAGE, "write 127.0.0.1:PORT",
			    "%s %.40s: only the loopback is served", flag, text);
}

int loopback_listen(const char *flag, const char *address, int *ret_fd, struct error *err)
{
	union address where;
	const int on = 1;

	if (read_address(flag, address, &where, err) < 0)
		return -1;
	owned(fd_close) int fd =
		socket(where.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* So that a server that has just ended can be started again; a second one beside it is refused all the same. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &where.any,
		 where.any.sa_family == AF_INET ? sizeof(where.four) : sizeof(where.six)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return error_errno(err, ERROR_HOST, "%s %.40s", flag, address);
	*ret_fd = fd_take(&fd);
	return 0;
}

static void address_of(int fd, union address *ret)
{
	socklen_t size = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	if (getsockname(fd, &ret->any, &size) < 0)
		ret->any.sa_family = AF_UNSPEC;
}

unsigned loopback_port(int fd)
{
	union address where;

	address_of(fd, &where);
	return where.any.sa_family == AF_INET	 ? ntohs(where.four.sin_port)
	       : where.any.sa_family == AF_INET6 ? ntohs(where.six.sin6_port)
						 : 0;
}

void loopback_name(int fd, char *ret_name, size_t size)
{
	union address where;

	address_of(fd, &where);
	(void)snprintf(ret_name, size, "%s:%u",
		       where.any.sa_family == AF_INET6 ? "[::1]" : "127.0.0.1", loopback_port(fd));
}
