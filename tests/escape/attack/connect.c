/* SPDX-License-Identifier: Apache-2.0 */
/* The empty network: connections and datagrams to anywhere (A096 to A098). */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static socklen_t address(const char *host, int port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (void *)out;
	struct sockaddr_in6 *v6 = (void *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((unsigned short)port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
		return 0;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((unsigned short)port);
	v6->sin6_scope_id = 1;
	return sizeof(*v6);
}

/* A connect that is only refused later counts by its later answer. */
static long connect_tcp(struct sockaddr_storage *to, socklen_t len)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int pending = 0;
	socklen_t size = sizeof(pending);
	long rc = connect(fd, (void *)to, len);

	if (rc < 0 && errno == EINPROGRESS) {
		if (poll(&wait, 1, 1500) == 0)
			errno = ETIMEDOUT;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &pending, &size) == 0)
			errno = pending;
		rc = errno ? -1 : 0;
	}
	close(fd);
	return rc;
}

static long send_udp(struct sockaddr_storage *to, socklen_t len, int protocol)
{
	static const char query[] = "\x12\x34\x01\0\0\1\0\0\0\0\0\0\4evil\4test\0\0\1\0\1";
	int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
	long rc;

	if (fd < 0)
		return -1;
	rc = sendto(fd, query, sizeof(query), 0, (void *)to, len);
	if (rc >= 0)
		rc = connect(fd, (void *)to, len);
	close(fd);
	return rc;
}

/* TCP fast open sends data without connect(2) being called. */
static long send_fast_open(struct sockaddr_storage *to, socklen_t len)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long rc = sendto(fd, "x", 1, MSG_FASTOPEN, (void *)to, len);
	int saved = errno;

	close(fd);
	errno = saved;
	return rc;
}

/* A096 to A098: ARGV: pairs "address port"; each by TCP, UDP, fast open, ping. */
int attack_connect(int argc, char **argv)
{
	struct sockaddr_storage to;
	char name[128];

	for (int i = 0; i + 1 < argc; i += 2) {
		socklen_t len = address(argv[i], atoi(argv[i + 1]), &to);

		if (len == 0)
			return 2;
		snprintf(name, sizeof(name), "tcp-%s-%s", argv[i], argv[i + 1]);
		report(name, connect_tcp(&to, len));
		snprintf(name, sizeof(name), "udp-%s-%s", argv[i], argv[i + 1]);
		report(name, send_udp(&to, len, 0));
		snprintf(name, sizeof(name), "tfo-%s-%s", argv[i], argv[i + 1]);
		report(name, send_fast_open(&to, len));
		snprintf(name, sizeof(name), "ping-%s-%s", argv[i], argv[i + 1]);
		report(name,
		       send_udp(&to, len, to.ss_family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6));
	}
	return 0;
}

/* A096: the socket on stdin belongs to the host's network; it is taken apart and connected anew. ARGV: address port. */
int attack_reuse_socket(int argc, char **argv)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct sockaddr_storage to;
	socklen_t len = argc > 1 ? address(argv[0], atoi(argv[1]), &to) : 0;
	int family = 0;
	socklen_t size = sizeof(family);

	if (len == 0)
		return 2;
	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0)
		family = -1;
	report_text("family", "%d", family);
	report("dissolve", connect(STDIN_FILENO, &nowhere, sizeof(nowhere)));
	report("reconnect", connect(STDIN_FILENO, (void *)&to, len));
	report("bind", bind(STDIN_FILENO, (void *)&to, len));
	return 0;
}
