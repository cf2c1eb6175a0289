/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of IPv4 and IPv6 as plain bytes, and which of them are special on the internet. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv4 address uses the first four bytes; one mapped into IPv6 is the same on the wire, and kept as IPv4. */
struct net_address {
	bool is_v6;
	uint8_t bytes[16];
};

#define NET_ADDRESS_SIZE INET6_ADDRSTRLEN

/* Strict forms only: four decimal numbers, or IPv6 in colons. Mapped ones are refused: they are written as IPv4. */
bool net_address_parse(const char *text, struct net_address *ret_address);
void net_address_format(const struct net_address *address, char out[static NET_ADDRESS_SIZE]);

/* "1.2.3.4:443", "[2001:db8::1]:443". */
#define NET_PLACE_SIZE (NET_ADDRESS_SIZE + 8)
void net_place_format(const struct net_address *address, uint16_t port,
		      char out[static NET_PLACE_SIZE]);

bool net_address_equal(const struct net_address *a, const struct net_address *b);

/* Whether the first BITS bits are the same. */
bool net_address_within(const struct net_address *address, const struct net_address *network,
			unsigned bits);

/* Addresses that mean something special to a host or its neighbours. */
struct net_special {
	const char *what; /* "loopback", "private" */
	struct net_address network;
	unsigned bits;
};

/* The special range an address is in, or NULL: then it is one of the internet. */
const struct net_special *net_address_special(const struct net_address *address);

/* False when the bytes are no address of these families. RET_PORT may be NULL. */
bool net_address_from(const struct sockaddr_storage *from, struct net_address *ret_address,
		      uint16_t *ret_port);
socklen_t net_address_to(const struct net_address *address, uint16_t port,
			 struct sockaddr_storage *ret_to);

#endif
