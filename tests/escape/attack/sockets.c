/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel surface, part five: socket families, netlink, socket options, ioctls, connections (A016 to A022, A096 to A098). */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void try_socket(const char *name, long family, long type, long protocol)
{
	long fd = syscall(SYS_socket, family, type, protocol);

	report(name, fd);
	if (fd >= 0)
		close((int)fd);
}

static bool is_plain_family(int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

static void try_inet(int family)
{
	static const int protocols[] = { 0, 1, 2, 41, 47, 50, 132, 136, 255, 262 };
	char name[64];

	for (size_t i = 0; i < COUNT(protocols); i++) {
		snprintf(name, sizeof(name), "raw-%d-%d", family, protocols[i]);
		try_socket(name, family, SOCK_RAW, protocols[i]);
	}
	snprintf(name, sizeof(name), "raw-%d-flags", family);
	try_socket(name, family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
	snprintf(name, sizeof(name), "raw-%d-high", family);
	try_socket(name, family, (long)(SOCK_RAW | 1ul << 32), IPPROTO_ICMP);
	snprintf(name, sizeof(name), "raw-%d-highfamily", family);
	try_socket(name, (long)((unsigned)family | 1ul << 32), SOCK_RAW, IPPROTO_ICMP);
	snprintf(name, sizeof(name), "proto-%d-mptcp", family);
	try_socket(name, family, SOCK_STREAM, 262);
	snprintf(name, sizeof(name), "proto-%d-sctp", family);
	try_socket(name, family, SOCK_STREAM, 132);
	snprintf(name, sizeof(name), "proto-%d-sctp-seq", family);
	try_socket(name, family, SOCK_SEQPACKET, 132);
	snprintf(name, sizeof(name), "proto-%d-l2tp", family);
	try_socket(name, family, SOCK_DGRAM, 115);
	snprintf(name, sizeof(name), "proto-%d-smc", family);
	try_socket(name, family, SOCK_STREAM, 256);
	snprintf(name, sizeof(name), "packet-%d", family);
	try_socket(name, family, SOCK_PACKET, htons(3));
	snprintf(name, sizeof(name), "packet-%d-zero", family);
	try_socket(name, family, SOCK_PACKET, 0);
}

/* A016: every family but the four, every type; raw and odd protocols of the internet families. */
int attack_families(int argc, char **argv)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW };
	char name[64];
	int pair[2];

	(void)argc;
	(void)argv;
	for (int family = 0; family < 64; family++) {
		for (size_t i = 0; i < COUNT(types) && !is_plain_family(family); i++) {
			snprintf(name, sizeof(name), "family-%d-%d", family, types[i]);
			try_socket(name, family, types[i], 0);
		}
		if (!is_plain_family(family)) {
			snprintf(name, sizeof(name), "family-%d-high", family);
			try_socket(name, (long)((unsigned)family | 1ul << 32),
				   SOCK_DGRAM | SOCK_CLOEXEC, 0);
		}
	}
	try_inet(AF_INET);
	try_inet(AF_INET6);
	report("pair-inet", socketpair(AF_INET, SOCK_STREAM, 0, pair));
	report("pair-netlink", socketpair(AF_NETLINK, SOCK_RAW, 0, pair));
	report("pair-tipc", socketpair(30, SOCK_SEQPACKET, 0, pair));
	return 0;
}

struct request {
	struct nlmsghdr header;
	union {
		struct ifinfomsg link;
		struct rtmsg route;
		struct ifaddrmsg addr;
		struct ndmsg neigh;
	} body;
	char attributes[128];
};

static void add_attribute(struct request *request, unsigned short type, const void *data,
			  unsigned short len)
{
	struct rtattr *attr =
		(struct rtattr *)(void *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	request->header.nlmsg_len =
		NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(attr->rta_len);
}

static void ask(const char *name, struct request *request)
{
	char answer[4096];
	struct nlmsghdr *header = (void *)answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t len;

	if (fd < 0 || send(fd, request, request->header.nlmsg_len, 0) < 0) {
		report(name, -1);
		return;
	}
	len = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	if (len < (ssize_t)sizeof(struct nlmsgerr) || header->nlmsg_type != NLMSG_ERROR) {
		report_text(name, "no answer");
		return;
	}
	errno = -((struct nlmsgerr *)NLMSG_DATA(header))->error;
	report(name, errno ? -1 : 0);
}

/* A018: other netlink protocols, and changes asked of the one that is open. */
int attack_netlink(int argc, char **argv)
{
	struct request link = { .header = { NLMSG_LENGTH(sizeof(link.body.link)), RTM_NEWLINK,
					    NLM_F_REQUEST | NLM_F_ACK, 1, 0 } };
	struct request addr = { .header = { NLMSG_LENGTH(sizeof(addr.body.addr)), RTM_NEWADDR,
					    NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 2, 0 } };
	struct request route = { .header = { NLMSG_LENGTH(sizeof(route.body.route)), RTM_NEWROUTE,
					     NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 3, 0 } };
	uint32_t ip = htonl(0x0a0a0a0a), lo = 1;
	char name[64];

	(void)argc;
	(void)argv;
	for (int protocol = 1; protocol <= 22; protocol++) {
		snprintf(name, sizeof(name), "protocol-%d", protocol);
		try_socket(name, AF_NETLINK, SOCK_RAW, protocol);
		snprintf(name, sizeof(name), "protocol-%d-dgram", protocol);
		try_socket(name, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
	}
	link.body.link.ifi_index = 1;
	link.body.link.ifi_flags = IFF_UP;
	link.body.link.ifi_change = IFF_UP;
	ask("newlink", &link);
	addr.body.addr = (struct ifaddrmsg){ AF_INET, 32, 0, 0, 1 };
	add_attribute(&addr, IFA_LOCAL, &ip, sizeof(ip));
	ask("newaddr", &addr);
	route.body.route = (struct rtmsg){ .rtm_family = AF_INET,
					   .rtm_table = RT_TABLE_MAIN,
					   .rtm_dst_len = 8,
					   .rtm_protocol = RTPROT_BOOT,
					   .rtm_type = RTN_UNICAST,
					   .rtm_scope = RT_SCOPE_LINK };
	add_attribute(&route, RTA_OIF, &lo, sizeof(lo));
	ip = htonl(0x0b000000);
	add_attribute(&route, RTA_DST, &ip, sizeof(ip));
	ask("newroute", &route);
	return 0;
}

/* A020: keystroke injection and line disciplines on a pty of one's own. */
int attack_ioctl(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long command;
	} commands[] = {
		{ "sti", TIOCSTI },
		{ "sti-high", TIOCSTI | 1ul << 32 },
		{ "sti-high2", TIOCSTI | 0xffffffff00000000ul },
		{ "linux", TIOCLINUX },
		{ "linux-high", TIOCLINUX | 1ul << 40 },
		{ "setd", TIOCSETD },
		{ "setd-high", TIOCSETD | 1ul << 32 },
	};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave = -1, zero = 0;

	if (master >= 0 && unlockpt(master) == 0)
		slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	report("pty", slave);
	for (size_t i = 0; i < COUNT(commands); i++)
		report(commands[i].name, syscall(SYS_ioctl, slave, commands[i].command, &zero));
	/* outside it would move the console's output to this pty: never part of a control run */
	if (argc > 0 && strcmp(argv[0], "cons") == 0) {
		report("cons", syscall(SYS_ioctl, slave, (unsigned long)TIOCCONS, 0));
		report("cons-high", syscall(SYS_ioctl, slave, TIOCCONS | 1ul << 32, 0));
	}
	return 0;
}

/* A022 */
int attack_setsockopt(int argc, char **argv)
{
	struct sock_filter accept = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	struct sock_fprog prog = { 1, &accept };
	int encap = 1, minus = -1;
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)argc;
	(void)argv;
	report("attach-filter", setsockopt(tcp, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)));
	report("attach-bpf", setsockopt(tcp, SOL_SOCKET, SO_ATTACH_BPF, &minus, sizeof(minus)));
	report("reuseport-cbpf",
	       setsockopt(udp, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)));
	report("reuseport-ebpf",
	       setsockopt(udp, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &minus, sizeof(minus)));
	report("ulp-tls", setsockopt(tcp, SOL_TCP, TCP_ULP, "tls", 3));
	report("ulp-espintcp", setsockopt(tcp, SOL_TCP, TCP_ULP, "espintcp", 8));
	report("ulp-smc", setsockopt(tcp, SOL_TCP, TCP_ULP, "smc", 3));
	report("udp-encap", setsockopt(udp, SOL_UDP, UDP_ENCAP, &encap, sizeof(encap)));
	report("ulp-high",
	       syscall(SYS_setsockopt, tcp, SOL_TCP | 1ul << 32, TCP_ULP | 1ul << 32, "tls", 3));
	report("filter-high", syscall(SYS_setsockopt, tcp, SOL_SOCKET | 1ul << 32,
				      SO_ATTACH_FILTER | 1ul << 32, &prog, sizeof(prog)));
	return 0;
}

/* Configuration of interfaces by ioctl: no capability, no change. */
int attack_netconfig(int argc, char **argv)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)argc;
	(void)argv;
	request.ifr_flags = IFF_UP | IFF_PROMISC;
	report("ifflags", ioctl(fd, SIOCSIFFLAGS, &request));
	request = (struct ifreq){ .ifr_name = "lo" };
	request.ifr_mtu = 1400;
	report("ifmtu", ioctl(fd, SIOCSIFMTU, &request));
	return 0;
}
