/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that name a destination, for what watches them: connect, sendto, sendmsg, sendmmsg. Each returns 0 or errno. */
#ifndef TESTS_UNIT_NET_CALLS_H
#define TESTS_UNIT_NET_CALLS_H

#include "base/core/own.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static int connect_to(int family, int type, const char *text, uint16_t port)
{
	struct sockaddr_in inet = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 inet6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	bool is_v6 = family == AF_INET6;
	owned(fd_close) int fd = socket(family, type | SOCK_CLOEXEC, 0);

	(void)inet_pton(family, text, is_v6 ? (void *)&inet6.sin6_addr : (void *)&inet.sin_addr);
	if (connect(fd, is_v6 ? (void *)&inet6 : (void *)&inet,
		    is_v6 ? sizeof(inet6) : sizeof(inet)) < 0)
		return errno;
	return 0;
}

static int send_to(const char *text, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	owned(fd_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, text, &to.sin_addr);
	return sendto(fd, "x", 1, 0, (void *)&to, sizeof(to)) < 0 ? errno : 0;
}

/* One message to each address, by sendmsg or sendmmsg. */
static int send_messages(const char *const *texts, unsigned count, int flags, bool is_many)
{
	owned(fd_close) int fd =
		socket(AF_INET, (flags ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	char byte = 'x';
	struct iovec part = { &byte, 1 };
	struct sockaddr_storage to[40] = { 0 };
	struct mmsghdr messages[40] = { 0 };

	for (unsigned i = 0; i < count; i++) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)&to[i];

		v4->sin_family = AF_INET;
		v4->sin_port = htons(123);
		(void)inet_pton(AF_INET, texts[i], &v4->sin_addr);
		/* A length that the kernel cuts is as good as the right one. */
		messages[i].msg_hdr = (struct msghdr){ .msg_name = &to[i],
						       .msg_namelen = i % 2 ? 16 : 4096,
						       .msg_iov = &part,
						       .msg_iovlen = 1 };
	}
	if (is_many)
		return sendmmsg(fd, messages, count, flags) < (int)count ? errno : 0;
	return sendmsg(fd, &messages[0].msg_hdr, flags) < 0 ? errno : 0;
}

/* The destination is the last of many, the others are the sandbox's own. */
static int send_last(const char *text)
{
	const char *texts[40];

	for (size_t i = 0; i < 40; i++)
		texts[i] = "127.0.0.1";
	texts[39] = text;
	return send_messages(texts, 40, 0, true) ? 1 : 0;
}

#endif
