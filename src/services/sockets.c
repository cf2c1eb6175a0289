/* SPDX-License-Identifier: Apache-2.0 */
/* Listening TCP sockets of this network namespace, asked of the kernel by sock_diag. */
#include "services/service.h"

#include "base/core/own.h"
#include "base/text/ip_text.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LISTENERS_MAX 4096
#define STATE_LISTEN 10 /* TCP_LISTEN of the kernel */

struct listeners {
	struct listener *items;
	size_t count;
};

static void describe_address(const struct inet_diag_msg *message, struct listener *listener)
{
	const uint8_t *bytes = (const uint8_t *)message->id.idiag_src;
	bool is_v6 = message->idiag_family == AF_INET6, is_any = true;

	for (size_t i = 0; i < (is_v6 ? 16 : 4); i++)
		is_any &= bytes[i] == 0;
	if (is_v6)
		ip_text_v6(bytes, listener->host);
	else
		ip_text_v4(bytes, listener->host);
	listener->is_everywhere = is_v6 ? strcmp(listener->host, "::1") != 0 : bytes[0] != 127;
	/* A server that takes every address answers on the loopback. */
	if (is_any)
		(void)snprintf(listener->host, sizeof(listener->host), "127.0.0.1");
}

static void take_listener(const struct inet_diag_msg *message, struct listeners *listeners)
{
	struct listener *listener;

	if (message->idiag_state != STATE_LISTEN || listeners->count == LISTENERS_MAX)
		return;
	listeners->items =
		xrealloc(listeners->items, listeners->count + 1, sizeof(*listeners->items));
	listener = &listeners->items[listeners->count++];
	*listener = (struct listener){ .inode = message->idiag_inode,
				       .uid = message->idiag_uid,
				       .port = ntohs(message->id.idiag_sport) };
	describe_address(message, listener);
}

/* One part of the kernel's answer: 1 when it was the last, 0, or -1 with errno. */
static int take_part(int fd, struct listeners *listeners)
{
	union {
		struct nlmsghdr header;
		char bytes[32768];
	} answer;
	ssize_t got = recv(fd, &answer, sizeof(answer), 0);
	size_t left = got > 0 ? (size_t)got : 0;

	if (got <= 0)
		return -1;
	for (const struct nlmsghdr *at = &answer.header; NLMSG_OK(at, left);
	     at = NLMSG_NEXT(at, left)) {
		if (at->nlmsg_type == NLMSG_DONE)
			return 1;
		if (at->nlmsg_type == NLMSG_ERROR) {
			errno = EPROTONOSUPPORT;
			return -1;
		}
		if (at->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			take_listener(NLMSG_DATA(at), listeners);
	}
	return 0;
}

static int ask_family(int fd, int family, struct listeners *listeners)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} question = {
		.header = { .nlmsg_len = sizeof(question),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.request = { .sdiag_family = (uint8_t)family,
			     .sdiag_protocol = IPPROTO_TCP,
			     .idiag_states = 1u << STATE_LISTEN },
	};
	int status = 0;

	if (send(fd, &question, sizeof(question), MSG_NOSIGNAL) != (ssize_t)sizeof(question))
		return -1;
	while (status == 0)
		status = take_part(fd, listeners);
	return status < 0 ? -1 : 0;
}

int listeners_read(struct listener **ret_listeners, size_t *ret_count, struct error *err)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	owned(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct listeners listeners = { NULL, 0 };

	/* Connected, the socket takes messages of the kernel alone. */
	if (fd < 0 || connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0 ||
	    ask_family(fd, AF_INET, &listeners) < 0 || ask_family(fd, AF_INET6, &listeners) < 0) {
		free(listeners.items);
		return error_errno(err, ERROR_HOST, "what listens on this machine (sock_diag)");
	}
	*ret_listeners = listeners.items;
	*ret_count = listeners.count;
	return 0;
}
