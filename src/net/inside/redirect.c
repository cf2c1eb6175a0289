/* SPDX-License-Identifier: Apache-2.0 */
/* One listener for every TCP port: the rules of nf_tables, written as the kernel reads them. */
#include "net/inside/redirect.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "net/inside/inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME "aisbx"
#define BEFORE_FILTERS (-150)
#define STUB_PORT 53

/* Everything is about 1,000 bytes; the messages have a fixed form. */
struct batch {
	_Alignas(NLMSG_ALIGNTO) char bytes[2048];
	size_t len;
};

static void *add(struct batch *batch, const void *data, size_t len)
{
	void *at = batch->bytes + batch->len;

	memcpy(at, data, len);
	batch->len += NLMSG_ALIGN(len);
	return at;
}

static struct nlmsghdr *begin(struct batch *batch, int type, int flags)
{
	const struct nlmsghdr header = { .nlmsg_type = (uint16_t)type,
					 .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags) };
	bool is_rule = flags != 0;
	const struct nfgenmsg family = { .nfgen_family = is_rule ? NFPROTO_INET : AF_UNSPEC,
					 .res_id = htons(is_rule ? 0 : NFNL_SUBSYS_NFTABLES) };
	struct nlmsghdr *message = add(batch, &header, sizeof(header));

	(void)add(batch, &family, sizeof(family));
	return message;
}

static void end(const struct batch *batch, struct nlmsghdr *message)
{
	message->nlmsg_len = (uint32_t)(batch->bytes + batch->len - (const char *)message);
}

static void attribute(struct batch *batch, int type, const void *data, size_t len)
{
	const struct nlattr head = { (uint16_t)(sizeof(struct nlattr) + len), (uint16_t)type };

	(void)add(batch, &head, sizeof(head));
	(void)add(batch, data, len);
}

static void text(struct batch *batch, int type, const char *value)
{
	attribute(batch, type, value, strlen(value) + 1);
}

static void number(struct batch *batch, int type, uint32_t value)
{
	value = htonl(value);
	attribute(batch, type, &value, sizeof(value));
}

static struct nlattr *nest(struct batch *batch, int type)
{
	const struct nlattr head = { sizeof(struct nlattr), (uint16_t)(type | NLA_F_NESTED) };

	return add(batch, &head, sizeof(head));
}

static void close_nest(const struct batch *batch, struct nlattr *head)
{
	head->nla_len = (uint16_t)(batch->bytes + batch->len - (const char *)head);
}

/* An expression of a rule with up to four numbers; type 0: no more. */
struct expression {
	const char *name;
	struct {
		int type;
		uint32_t value;
	} numbers[4];
	int data_type; /* with DATA */
	const void *data;
	size_t len;
};

static void add_expression(struct batch *batch, const struct expression *expression)
{
	struct nlattr *element = nest(batch, NFTA_LIST_ELEM), *data, *value;

	text(batch, NFTA_EXPR_NAME, expression->name);
	data = nest(batch, NFTA_EXPR_DATA);
	for (int i = 0; i < 4 && expression->numbers[i].type; i++)
		number(batch, expression->numbers[i].type, expression->numbers[i].value);
	if (expression->data) {
		value = nest(batch, expression->data_type);
		attribute(batch, NFTA_DATA_VALUE, expression->data, expression->len);
		close_nest(batch, value);
	}
	close_nest(batch, data);
	close_nest(batch, element);
}

#define REGISTER NFT_REG_1
#define META(key)                                                                            \
	{                                                                                    \
		"meta", { { NFTA_META_KEY, key }, { NFTA_META_DREG, REGISTER } }, 0, NULL, 0 \
	}
#define LOAD(base, offset, len)                            \
	{                                                  \
		"payload",                                 \
			{ { NFTA_PAYLOAD_DREG, REGISTER }, \
			  { NFTA_PAYLOAD_BASE, base },     \
			  { NFTA_PAYLOAD_OFFSET, offset }, \
			  { NFTA_PAYLOAD_LEN, len } },     \
			0, NULL, 0                         \
	}
#define COMPARE(op, data, len)                                                                    \
	{                                                                                         \
		"cmp", { { NFTA_CMP_SREG, REGISTER }, { NFTA_CMP_OP, op } }, NFTA_CMP_DATA, data, \
			len                                                                       \
	}

/* TCP of one family that is neither for the loopback nor for the stub goes to the listener at PORT. */
static void add_rule(struct batch *batch, bool is_v6, in_port_t port)
{
	const uint8_t tcp = IPPROTO_TCP, family = is_v6 ? NFPROTO_IPV6 : NFPROTO_IPV4;
	const uint8_t own[16] = { [0] = is_v6 ? 0 : 127, [15] = 1 }; /* 127/8, or ::1 */
	const in_port_t stub = htons(STUB_PORT);
	const size_t own_len = is_v6 ? 16 : 1;
	const struct expression expressions[] = {
		META(NFT_META_NFPROTO),
		COMPARE(NFT_CMP_EQ, &family, 1),
		META(NFT_META_L4PROTO),
		COMPARE(NFT_CMP_EQ, &tcp, 1),
		LOAD(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2),
		COMPARE(NFT_CMP_NEQ, &stub, 2),
		LOAD(NFT_PAYLOAD_NETWORK_HEADER, is_v6 ? 24 : 16, (uint32_t)own_len),
		COMPARE(NFT_CMP_NEQ, own, own_len),
		{ "immediate",
		  { { NFTA_IMMEDIATE_DREG, REGISTER } },
		  NFTA_IMMEDIATE_DATA,
		  &port,
		  sizeof(port) },
		{ "tproxy",
		  { { NFTA_TPROXY_FAMILY, family }, { NFTA_TPROXY_REG_PORT, REGISTER } },
		  0,
		  NULL,
		  0 },
	};
	struct nlmsghdr *message = begin(batch, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE,
					 NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK);
	struct nlattr *list;

	text(batch, NFTA_RULE_TABLE, NAME);
	text(batch, NFTA_RULE_CHAIN, NAME);
	list = nest(batch, NFTA_RULE_EXPRESSIONS);
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
		add_expression(batch, &expressions[i]);
	close_nest(batch, list);
	end(batch, message);
}

static void add_chain(struct batch *batch)
{
	struct nlmsghdr *message =
		begin(batch, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE, NLM_F_CREATE);
	struct nlattr *hook;

	text(batch, NFTA_TABLE_NAME, NAME);
	end(batch, message);
	message = begin(batch, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	text(batch, NFTA_CHAIN_TABLE, NAME);
	text(batch, NFTA_CHAIN_NAME, NAME);
	hook = nest(batch, NFTA_CHAIN_HOOK);
	number(batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	number(batch, NFTA_HOOK_PRIORITY, (uint32_t)BEFORE_FILTERS);
	close_nest(batch, hook);
	text(batch, NFTA_CHAIN_TYPE, "filter");
	end(batch, message);
}

/* The kernel has taken or refused all of it by the time it is sent. Both rules must be acknowledged. */
static int load(const struct batch *batch)
{
	owned(fd_close) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	union {
		struct nlmsghdr header;
		char room[4096];
	} answer;
	const struct nlmsgerr *verdict = NLMSG_DATA(&answer.header);
	int taken = 0;

	if (fd < 0 || send(fd, batch->bytes, batch->len, 0) < 0)
		return -1;
	while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) >=
	       (ssize_t)NLMSG_LENGTH(sizeof(*verdict))) {
		if (answer.header.nlmsg_type != NLMSG_ERROR)
			continue;
		if (verdict->error) {
			errno = -verdict->error;
			return -1;
		}
		taken++;
	}
	errno = EPROTO;
	return taken == 2 ? 0 : -1;
}

/* Without it the kernel hands a listener only what is for its own port. */
static int accept_all(int fd, in_port_t *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} where;
	socklen_t len = sizeof(where);
	int on = 1;

	if (getsockname(fd, &where.any, &len) < 0)
		return -1;
	bool is_v6 = where.any.sa_family == AF_INET6;

	*ret_port = is_v6 ? where.v6.sin6_port : where.v4.sin_port;
	return setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			  is_v6 ? IPV6_TRANSPARENT : IP_TRANSPARENT, &on, sizeof(on));
}

int redirect_open(int *ret_fd)
{
	owned(fd_close) int fd = -1;
	struct batch batch = { .len = 0 };
	in_port_t port;

	if (inside_open_port(false, 0, &fd) < 0 || accept_all(fd, &port) < 0)
		return -1;
	end(&batch, begin(&batch, NFNL_MSG_BATCH_BEGIN, 0));
	add_chain(&batch);
	add_rule(&batch, false, port);
	add_rule(&batch, true, port);
	end(&batch, begin(&batch, NFNL_MSG_BATCH_END, 0));
	if (load(&batch) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

bool redirect_works(void)
{
	struct error ignored;
	pid_t pid = child_fork(CHILD_ALONE, 0, NULL, &ignored);
	int fd;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || redirect_open(&fd) < 0);
	return pid > 0 && child_wait(pid) == 0;
}
