/* SPDX-License-Identifier: Apache-2.0 */
/* Is an address this machine's own: the routing table is asked, for each connection, as addresses come and go. */
#include "net/rule/own_address.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct question {
	struct nlmsghdr header;
	struct rtmsg route;
	struct rtattr attribute;
	uint8_t address[16];
};

int own_address_open(void)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	owned(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	/* Connected, the socket takes messages of the kernel alone. */
	if (fd < 0 || connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -1;
	return fd_take(&fd);
}

static int ask(int fd, const struct net_address *address, uint32_t number)
{
	const size_t len = address->is_v6 ? 16 : 4;
	struct question question = {
		.header = { .nlmsg_len = (uint32_t)(offsetof(struct question, address) + len),
			    .nlmsg_type = RTM_GETROUTE,
			    .nlmsg_flags = NLM_F_REQUEST,
			    .nlmsg_seq = number },
		.route = { .rtm_family = address->is_v6 ? AF_INET6 : AF_INET,
			   .rtm_dst_len = (unsigned char)(8 * len) },
		.attribute = { .rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = RTA_DST },
	};
	ssize_t sent;

	memcpy(question.address, address->bytes, len);
	sent = send(fd, &question, question.header.nlmsg_len, MSG_NOSIGNAL);
	return sent == (ssize_t)question.header.nlmsg_len ? 0 : -1;
}

/* Where there is no way at all, dialling says so better than a refusal. */
static bool is_no_route(int error)
{
	return error == -ENETUNREACH || error == -EHOSTUNREACH || error == -EACCES;
}

bool own_address_is(int fd, const struct net_address *address)
{
	static uint32_t number;
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} answer;

	if (fd < 0 || ask(fd, address, ++number) < 0)
		return true;
	/* The kernel has answered by the time the question is sent. An answer that was left behind is passed over. */
	for (;;) {
		const struct nlmsghdr *header = &answer.header;
		ssize_t len = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

		if (len < (ssize_t)sizeof(*header))
			return true;
		if (header->nlmsg_seq != number)
			continue;
		if (header->nlmsg_type == NLMSG_ERROR && len >= (ssize_t)NLMSG_LENGTH(sizeof(int)))
			return !is_no_route(((const struct nlmsgerr *)NLMSG_DATA(header))->error);
		if (header->nlmsg_type != RTM_NEWROUTE ||
		    len < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)))
			return true;
		int type = ((const struct rtmsg *)NLMSG_DATA(header))->rtm_type;

		return type == RTN_LOCAL || type == RTN_ANYCAST;
	}
}
