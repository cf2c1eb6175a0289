/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of IPv4 and IPv6 as plain bytes, and which of them are special on the internet. */
#include "net/rule/address.h"

#include "base/text/ip_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define V4(a, b, c, d)                     \
	{                                  \
		false,                     \
		{                          \
			(a), (b), (c), (d) \
		}                          \
	}
#define V6(...)                     \
	{                           \
		true,               \
		{                   \
			__VA_ARGS__ \
		}                   \
	}

/* Documentation ranges are not listed: they have no hosts, and tests of networks use them. */
static const struct net_special specials[] = {
	{ "unspecified", V4(0, 0, 0, 0), 8 },
	{ "private", V4(10, 0, 0, 0), 8 },
	{ "shared (carrier-grade NAT)", V4(100, 64, 0, 0), 10 },
	{ "loopback", V4(127, 0, 0, 0), 8 },
	{ "metadata", V4(168, 63, 129, 16), 32 },
	{ "metadata", V4(169, 254, 169, 254), 32 },
	{ "link-local", V4(169, 254, 0, 0), 16 },
	{ "private", V4(172, 16, 0, 0), 12 },
	{ "protocol assignment", V4(192, 0, 0, 0), 24 },
	{ "6to4", V4(192, 88, 99, 0), 24 },
	{ "private", V4(192, 168, 0, 0), 16 },
	{ "benchmark", V4(198, 18, 0, 0), 15 },
	{ "multicast", V4(224, 0, 0, 0), 4 },
	{ "reserved", V4(240, 0, 0, 0), 4 },
	{ "loopback", V6([15] = 1), 128 },
	{ "IPv4-mapped", V6([10] = 0xff, 0xff), 96 },
	{ "IPv4-compatible", V6(0), 96 },
	{ "IPv4-translated", V6([8] = 0xff, 0xff), 96 },
	{ "NAT64", V6(0x00, 0x64, 0xff, 0x9b), 96 },
	{ "NAT64", V6(0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), 48 },
	{ "discard", V6(0x01), 64 },
	{ "Teredo", V6(0x20, 0x01), 32 },
	{ "6to4", V6(0x20, 0x02), 16 },
	{ "private", V6(0xfc), 7 },
	{ "link-local", V6(0xfe, 0x80), 10 },
	{ "site-local", V6(0xfe, 0xc0), 10 },
	{ "multicast", V6(0xff), 8 },
};

static bool is_mapped(const uint8_t *bytes)
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };

	return memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

bool net_address_parse(const char *text, struct net_address *ret_address)
{
	struct net_address address = { 0 };

	if (inet_pton(AF_INET, text, address.bytes) != 1) {
		address.is_v6 = true;
		if (inet_pton(AF_INET6, text, address.bytes) != 1 || is_mapped(address.bytes))
			return false;
	}
	*ret_address = address;
	return true;
}

void net_address_format(const struct net_address *address, char out[static NET_ADDRESS_SIZE])
{
	if (address->is_v6)
		ip_text_v6(address->bytes, out);
	else
		ip_text_v4(address->bytes, out);
}

void net_place_format(const struct net_address *address, uint16_t port,
		      char out[static NET_PLACE_SIZE])
{
	char text[NET_ADDRESS_SIZE];

	net_address_format(address, text);
	(void)snprintf(out, NET_PLACE_SIZE, address->is_v6 ? "[%s]:%u" : "%s:%u", text, port);
}

bool net_address_equal(const struct net_address *a, const struct net_address *b)
{
	return a->is_v6 == b->is_v6 && memcmp(a->bytes, b->bytes, a->is_v6 ? 16 : 4) == 0;
}

bool net_address_within(const struct net_address *address, const struct net_address *network,
			unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (address->is_v6 != network->is_v6 || memcmp(address->bytes, network->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       ((address->bytes[whole] ^ network->bytes[whole]) & (0xff << (8 - rest)) & 0xff) == 0;
}

const struct net_special *net_address_special(const struct net_address *address)
{
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (net_address_within(address, &specials[i].network, specials[i].bits))
			return &specials[i];
	}
	return NULL;
}

bool net_address_from(const struct sockaddr_storage *from, struct net_address *ret_address,
		      uint16_t *ret_port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	struct net_address address = { 0 };

	if (from->ss_family != AF_INET && from->ss_family != AF_INET6)
		return false;
	if (from->ss_family == AF_INET) {
		memcpy(address.bytes, &v4->sin_addr, 4);
	} else if (is_mapped(v6->sin6_addr.s6_addr)) {
		memcpy(address.bytes, v6->sin6_addr.s6_addr + 12, 4);
	} else {
		address.is_v6 = true;
		memcpy(address.bytes, &v6->sin6_addr, 16);
	}
	if (ret_port)
		*ret_port = ntohs(from->ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
	*ret_address = address;
	return true;
}

socklen_t net_address_to(const struct net_address *address, uint16_t port,
			 struct sockaddr_storage *ret_to)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_to;

	memset(ret_to, 0, sizeof(*ret_to));
	if (!address->is_v6) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, address->bytes, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, address->bytes, 16);
	return sizeof(*v6);
}
