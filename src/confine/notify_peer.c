/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses that a payload handed to the kernel, made readable for a denial. */
#include "confine/notify_peer.h"

#include "base/text/ip_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void decode_inet(const struct in_addr *addr, in_port_t port, struct peer *peer)
{
	uint32_t number = ntohl(addr->s_addr);

	peer->family = AF_INET;
	peer->port = ntohs(port);
	peer->is_own = number >> 24 == 127 || number == 0;
	ip_text_v4((const uint8_t *)&addr->s_addr, peer->address);
}

static void decode_inet6(const struct sockaddr_in6 *addr, struct peer *peer)
{
	struct in_addr mapped;

	if (IN6_IS_ADDR_V4MAPPED(&addr->sin6_addr)) {
		memcpy(&mapped, &addr->sin6_addr.s6_addr[12], sizeof(mapped));
		decode_inet(&mapped, addr->sin6_port, peer);
		return;
	}
	peer->family = AF_INET6;
	peer->port = ntohs(addr->sin6_port);
	peer->is_own =
		IN6_IS_ADDR_LOOPBACK(&addr->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&addr->sin6_addr);
	ip_text_v6(addr->sin6_addr.s6_addr, peer->address);
}

static void decode_unix(const char *path, size_t len, struct peer *peer)
{
	size_t max = sizeof(peer->path) - 1;

	peer->family = AF_UNIX;
	peer->is_own = true;
	memcpy(peer->path, path, len < max ? len : max);
	if (len && !path[0])
		peer->path[0] = '@';
}

void peer_decode(const void *bytes, size_t len, struct peer *ret_peer)
{
	union {
		struct sockaddr plain;
		struct sockaddr_in inet;
		struct sockaddr_in6 inet6;
		struct sockaddr_un local;
	} addr;

	memset(ret_peer, 0, sizeof(*ret_peer));
	memset(&addr, 0, sizeof(addr));
	memcpy(&addr, bytes, len < sizeof(addr) ? len : sizeof(addr));
	if (len < sizeof(addr.plain.sa_family))
		return;
	if (addr.plain.sa_family == AF_INET && len >= sizeof(addr.inet))
		decode_inet(&addr.inet.sin_addr, addr.inet.sin_port, ret_peer);
	/* The kernel takes the address without its scope as well. */
	if (addr.plain.sa_family == AF_INET6 && len >= offsetof(struct sockaddr_in6, sin6_scope_id))
		decode_inet6(&addr.inet6, ret_peer);
	if (addr.plain.sa_family == AF_UNIX)
		decode_unix(addr.local.sun_path,
			    (len < sizeof(addr.local) ? len : sizeof(addr.local)) -
				    offsetof(struct sockaddr_un, sun_path),
			    ret_peer);
}

void peer_format(const struct peer *peer, bool is_datagram, char *out, size_t size)
{
	bool is_v6 = peer->family == AF_INET6;

	(void)snprintf(out, size, "%s%s%s%s:%u", is_datagram ? "udp:" : "", is_v6 ? "[" : "",
		       peer->address, is_v6 ? "]" : "", peer->port);
}
