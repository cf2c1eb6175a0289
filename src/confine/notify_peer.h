/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses that a payload handed to the kernel, made readable for a denial. */
#ifndef CONFINE_NOTIFY_PEER_H
#define CONFINE_NOTIFY_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

struct peer {
	int family;    /* AF_UNSPEC when the bytes make no sense */
	uint16_t port; /* AF_INET, AF_INET6 */
	bool is_own;   /* loopback, or the wildcard that means loopback */
	char address[INET6_ADDRSTRLEN];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1]; /* '@' first when abstract */
};

/* Decodes hostile bytes; never fails, see family. */
void peer_decode(const void *bytes, size_t len, struct peer *ret_peer);

/* "1.2.3.4:443", "[2001:db8::1]:443", with "udp:" in front for datagrams: as in a network rule. */
void peer_format(const struct peer *peer, bool is_datagram, char *out, size_t size);

#endif
