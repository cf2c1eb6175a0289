/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine knows about names without asking: /etc/hosts, and which servers to ask: /etc/resolv.conf. */
#ifndef NET_HOSTS_H
#define NET_HOSTS_H

#include "net/rule/dns.h"

#define NAMESERVERS_MAX 3
#define HOSTS_MAX 4096

struct host_entry {
	struct net_address address;
	char *name; /* canonical */
};

struct net_hosts {
	struct net_address servers[NAMESERVERS_MAX];
	size_t server_count;
	unsigned timeout_ms, attempts;
	struct host_entry *entries;
	size_t entry_count;
};

/*
 * Texts of the two files; what makes no sense in them is passed over, as every resolver does. Kept as long as the
 * gateway lives.
 */
void net_hosts_parse(const char *resolv_conf, const char *hosts, struct net_hosts *ret_hosts);

/* Whether the file lists the name; the answer has its addresses of that type, perhaps none. */
bool net_hosts_find(const struct net_hosts *hosts, const char *name, uint16_t type,
		    struct dns_answer *ret_answer);

#endif
